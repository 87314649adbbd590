// Many callers at once, and servers that are killed while they work.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { McpServer } from '@modelcontextprotocol/server';
import type { Profile } from 'pocket-agent';
import { expect, test, vi } from 'vitest';
import { startPersonalHost } from '../../pocket-agent/test/callers/personal-host.ts';
import { text } from '../../pocket-agent/test/fixtures/programs/lives.ts';
import { quickStart } from '../../pocket-agent/test/fixtures/programs/quick-start.ts';
import { type AnyClient, atEnd, connect, kinds, namesOf, served, temporaryFolder, textOf } from './world.ts';

const CALLERS = 200;
const CALLS = 10_000;
const LANES = 32;
const patience = 120_000 * Number(process.env.TEST_PATIENCE);
const readOnly = { readOnlyHint: true };
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index);

test(
  `${CALLERS} callers with different profiles at once each see only their own tools and results`,
  async () => {
    const host = await startPersonalHost('2026');
    atEnd(() => host.close());
    const names = numbers(CALLERS).map((number) => `user-${number}`);
    for (const name of names)
      vi.stubEnv(`CRM_TOKEN__${name.toUpperCase().replace('-', '_')}`, host.issue(name.replace('-', '_')));
    const rooms = () => {
      const server = new McpServer({ name: 'rooms', version: '1.0.0' });
      for (const room of names) server.registerTool(room, { annotations: readOnly }, () => text(`inside ${room}`));
      return server;
    };
    const profiles = Object.fromEntries(
      names.map((name): [string, Profile] => [name, { capabilities: [], allow: [`rooms__${name}`, 'crm__*'] }]),
    );
    const headers = { Authorization: `Bearer $\{caller:CRM_TOKEN}` };
    const { url, caller } = await served({
      mcpServers: {
        crm: { url: host.url, headers, maxCallers: CALLERS, waitMs: patience },
        rooms: { server: rooms, shared: true },
      },
      profiles,
    });
    const clients = await Promise.all(
      names.map(async (name, index) => {
        const kind = kinds[index % kinds.length] ?? 'SDK v1';
        return { name, client: await connect(kind, url, await caller(name, { profile: name })) };
      }),
    );
    const seen = await Promise.all(
      clients.map(async ({ name, client }, index) => {
        const other = names[(index + 1) % names.length];
        const [tools, who, room, foreign] = await Promise.all([
          namesOf(client),
          client.call('crm__whoami').then(textOf),
          client.call(`rooms__${name}`).then(textOf),
          client.call(`rooms__${other}`).then(textOf, (error: Error) => error.message),
        ]);
        return { tools, who, room, foreign: foreign.includes('not found') };
      }),
    );
    const expected = names.map((name) => {
      const user = name.replace('-', '_');
      const tools = [`crm__files_of_${user}`, 'crm__whoami', `rooms__${name}`];
      return { tools, who: user, room: `inside ${name}`, foreign: true };
    });
    expect(seen).toEqual(expected);
    expect(host.violations).toEqual([]);
  },
  patience,
);

const program = join(import.meta.dirname, 'effects-server.ts');
const argsOf = (folder: string) => ['-C', 'pocket-agent/source', program, folder];

/** A server over HTTP that is killed and started again on its port. */
async function mortalHost(folder: string) {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  let child: ChildProcess | undefined;
  const start = async () => {
    child = spawn(process.execPath, [...argsOf(folder), String(port)], { stdio: ['ignore', 'pipe', 'inherit'] });
    if (child.stdout) await once(child.stdout, 'data');
  };
  await start();
  atEnd(() => child?.kill('SIGKILL'));
  const kill = () => void child?.kill('SIGKILL');
  return { url: `http://127.0.0.1:${port}/mcp`, kill, start };
}

/** Numbers that are the same in each run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}

test(
  `${CALLS} calls while servers are killed: each is answered once, and none takes effect twice`,
  async () => {
    const folder = await temporaryFolder();
    const host = await mortalHost(folder);
    const { url, caller } = await served({
      mcpServers: {
        child: { command: process.execPath, args: argsOf(folder), env: quickStart, waitMs: patience },
        web: { url: host.url, waitMs: patience },
      },
    });
    const clients: AnyClient[] = [];
    for (const [index, kind] of kinds.entries())
      clients.push(await connect(kind, url, await caller(`user-${index}`, { profile: 'admin' })));
    for (const client of clients)
      await expect.poll(async () => (await namesOf(client)).length, { timeout: patience }).toBe(4);

    const random = randomFrom(7);
    const answers = new Map<number, string[]>();
    const kinds4 = ['child__add', 'web__add', 'child__look', 'web__look'];
    let kills = 0;
    const killOne = async () => {
      kills++;
      if (kills % 2 === 0) {
        host.kill();
        await host.start();
        return;
      }
      const pids = readFileSync(join(folder, 'pids'), 'utf8').trim().split('\n');
      try {
        process.kill(Number(pids[pids.length - 1 - random(Math.min(3, pids.length))]), 'SIGKILL');
      } catch {
        // it has ended already
      }
    };
    const note = (id: number, answer: string) => answers.set(id, [...(answers.get(id) ?? []), answer]);
    let next = 0;
    const lane = async (client: AnyClient) => {
      while (next < CALLS) {
        const id = next++;
        if (id % 400 === 40) void killOne();
        const name = kinds4[random(kinds4.length)] ?? '';
        const answer = await client.call(name, { id }).then(
          (result) => `${result.isError ? 'failed' : 'done'} ${name} ${textOf(result)}`,
          (error: Error) => `failed ${name} ${error.message}`,
        );
        note(id, answer);
        if (answer.startsWith('failed')) await setTimeout(100); // the server may be starting
      }
    };
    await Promise.all(numbers(LANES).map((number) => lane(clients[number % clients.length] as AnyClient)));

    const effects = new Map<string, number>();
    for (const line of readFileSync(join(folder, 'effects'), 'utf8').trim().split('\n'))
      effects.set(line, (effects.get(line) ?? 0) + 1);
    expect([...answers.values()].filter((given) => given.length !== 1)).toEqual([]);
    expect(answers.size).toBe(CALLS);
    const repeated = [...effects].filter(([line, count]) => line.startsWith('add') && count > 1);
    expect(repeated).toEqual([]);
    const all = [...answers].map(([id, [answer = '']]) => ({ id, answer }));
    const done = all.filter(({ answer }) => answer.startsWith('done'));
    for (const { id, answer } of done) {
      const [, name = '', said] = answer.split(' ');
      expect(said).toBe(String(id));
      expect(effects.get(`${name.split('__')[1]} ${id}`)).toBeGreaterThan(0);
    }
    // a call whose effect is there is answered with its result, or with an error that does not deny it
    const denied = all.filter(({ id, answer }) => answer.includes('was not called') && effects.has(`add ${id}`));
    expect(denied).toEqual([]);
    expect(kills).toBe(CALLS / 400);
    expect(done.length).toBeGreaterThan(CALLS / 2);
  },
  2 * patience,
);
