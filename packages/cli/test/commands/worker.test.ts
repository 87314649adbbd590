// `pocket-agent worker`: advances durable runs until it is stopped.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { openRuns } from '@pocket-agent/runs';
import { expect, onTestFinished, test } from 'vitest';
import { CommandFolder, commandLine } from '../fixtures/command.ts';

const folder = new CommandFolder();

test('advances the runs of the agents in a module, and ends when it is told to', async () => {
  const database = join(folder.path, 'runs.db');
  const module = join(folder.path, 'agents.mjs');
  const library = import.meta.resolve('pocket-agent');
  writeFileSync(
    module,
    `import { PocketAgent } from ${JSON.stringify(library)};
     export const agents = { calculator: () => new PocketAgent({ name: 'calculator', llmModel: 'demo' }) };`,
  );
  const [node = '', ...args] = [...commandLine, 'worker', module, '--runs', database];
  const worker = spawn(node, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  const [line] = await once(createInterface(worker.stderr), 'line');
  expect(line).toBe('Ready for runs of calculator. Ctrl-C stops.');
  const runs = await openRuns({ url: `sqlite:${database}` });
  const { id } = await runs.start('calculator', 'What is 6 * 7?');
  expect(await runs.result(id)).toEqual(expect.any(String));
  worker.kill('SIGTERM');
  expect(await once(worker, 'exit')).toEqual([143, null]);
  await runs.close();
});

test('lets studios see its runs at an address, with the token', async () => {
  const database = join(folder.path, 'seen.db');
  const module = join(folder.path, 'seen.mjs');
  const library = import.meta.resolve('pocket-agent');
  writeFileSync(
    module,
    `import { PocketAgent } from ${JSON.stringify(library)};
     export const agents = { calculator: () => new PocketAgent({ name: 'calculator', llmModel: 'demo' }) };`,
  );
  const [node = '', ...args] = [...commandLine, 'worker', module, '--runs', database, '--studio', '0'];
  const env = { ...process.env, POCKET_AGENT_STUDIO_TOKEN: 'the-token' };
  const worker = spawn(node, args, { stdio: ['ignore', 'ignore', 'pipe'], env });
  const [line] = await once(createInterface(worker.stderr), 'line');
  const [, origin] = /^studio: (http:\/\/127\.0\.0\.1:\d+)$/.exec(String(line)) ?? []; // the token was given: it is not told
  const runs = (headers: Record<string, string>) => fetch(`${origin}/api/durable`, { headers });
  expect((await runs({})).status).toBe(401);
  expect((await runs({ authorization: 'Bearer the-token' })).status).toBe(200);
  worker.kill('SIGTERM');
  expect(await once(worker, 'exit')).toEqual([143, null]);
  expect((await folder.command(['worker', module, '--runs', database, '--studio', 'x'])).stderr).toContain(
    'a port or host:port',
  );
});

test('ends calls that have begun before it reports that the address for studios is in use', async () => {
  const database = join(folder.path, 'begun.db');
  const module = join(folder.path, 'begun.mjs');
  const log = join(folder.path, 'calls.txt');
  writeFileSync(log, '');
  writeFileSync(
    module,
    `import { appendFileSync, readFileSync } from 'node:fs';
     import { Server } from 'node:net';
     import { setTimeout } from 'node:timers/promises';
     import { PocketAgent, tool } from ${JSON.stringify(import.meta.resolve('pocket-agent'))};
     import { ScriptedModel } from ${JSON.stringify(import.meta.resolve('pocket-agent/testing'))};
     const pay = tool({ name: 'pay', description: 'Pays', run: async () => {
       appendFileSync(${JSON.stringify(log)}, 'begun ');
       await setTimeout(1_000);
       appendFileSync(${JSON.stringify(log)}, 'ended ');
       return 'paid';
     } });
     const script = [{ toolCalls: [{ name: 'pay', arguments: {} }] }, 'Paid.'];
     export const agents = { payer: () => new PocketAgent({ llmModel: new ScriptedModel(script), tools: [pay] }) };
     // the address is opened while a call is being made
     const { listen } = Server.prototype;
     Server.prototype.listen = function (...args) {
       const timer = setInterval(() => {
         if (readFileSync(${JSON.stringify(log)}, 'utf8') === '') return;
         clearInterval(timer);
         listen.apply(this, args);
       }, 5);
       return this;
     };`,
  );
  const runs = await openRuns({ url: `sqlite:${database}` });
  await runs.start('payer', 'Pay', { id: 'pay' });
  const old = createServer().listen(0, '127.0.0.1');
  onTestFinished(() => void old.close());
  await once(old, 'listening');
  const { port } = old.address() as AddressInfo;
  const { code, stderr } = await folder.spawned(['worker', module, '--runs', database, '--studio', String(port)]);
  expect(code).toBe(2);
  expect(stderr).toContain('EADDRINUSE');
  expect(stderr).toContain('Choose another port with --studio; 0 takes one that is free.');
  expect(readFileSync(log, 'utf8')).toBe('begun ended ');
  await runs.close();
});

test('refuses modules without agents', async () => {
  const database = join(folder.path, 'runs.db');
  const module = join(folder.path, 'empty.mjs');
  writeFileSync(module, 'export const agent = 1;');
  const worker = (...args: string[]) => folder.command(['worker', ...args]);
  expect((await worker(module, '--runs', database)).stderr).toContain(
    'must export its agents: export const agents = {',
  );
  const none = join(folder.path, 'none.mjs');
  expect((await worker(none, '--runs', database)).stderr).toBe(`pocket-agent: There is no file ${none}.\n`);
  const agentFile = join(folder.path, 'desk.json');
  writeFileSync(agentFile, '{ "llmModel": "demo" }');
  expect((await worker(agentFile, '--runs', database)).stderr).toContain(
    `${agentFile} is not a module (.ts, .js, .mts, .mjs, .cts or .cjs), which must export its agents: export const agents = {`,
  );
  const broken = join(folder.path, 'broken.mjs');
  writeFileSync(broken, "import './gone.mjs';");
  expect((await worker(broken, '--runs', database)).stderr).toContain(`${broken} cannot be loaded: `);
  expect((await worker(module)).stderr).toContain('Name the database');
  expect((await worker()).stderr).toContain('worker MODULE --runs DATABASE');
});

test('a studio attaches only to an address with a token', async () => {
  const attach = (address: string) =>
    folder.command(['studio', '--model', 'demo', '--attach', address], { env: { POCKET_AGENT_STUDIO_TOKEN: '' } });
  expect((await attach('4100')).stderr).toContain('--attach needs the address that a program printed, not "4100"');
  expect((await attach('http://127.0.0.1:4100/')).stderr).toContain(
    '--attach http://127.0.0.1:4100 needs the token of that program',
  );
});
