// The command `agent3` as a process: output, exit codes, signals.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, test } from 'vitest';
import { readSettings } from '../../src/hub/options.ts';
import { atEnd } from '../fixtures/cleanup.ts';
import { serve } from '../fixtures/local-server.ts';
import { temporaryFolder, toolsOf } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

const main = ['-C', 'pocket-agent/source', fileURLToPath(new URL('../../src/main.ts', import.meta.url))];

interface Run {
  child: ChildProcessWithoutNullStreams;
  output(): string;
  errors(): string;
  ended: Promise<unknown[]>;
}

function start(args: string[], environment: Record<string, string>, node: string[] = []): Run {
  const child = spawn(process.execPath, [...node, ...main, ...args], { env: { ...environment }, cwd: tmpdir() });
  const kept = { output: '', errors: '' };
  child.stdout.on('data', (chunk) => {
    kept.output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    kept.errors += chunk;
  });
  const ended = once(child, 'close');
  atEnd(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return { child, output: () => kept.output, errors: () => kept.errors, ended };
}

async function run(args: string[], environment: Record<string, string>, input = '') {
  const { child, output, errors, ended } = start(args, environment);
  child.stdin.end(input);
  const [code] = await ended;
  return { code, output: output(), errors: errors() };
}

async function home(): Promise<Record<string, string>> {
  return { XDG_DATA_HOME: await temporaryFolder(), AGENT3_ALLOW_HOSTS: '127.0.0.1' };
}

/** An agent that serves its card at the well-known path. */
async function servedAgent(): Promise<string> {
  const { card } = await startSdkAgent();
  return `${await serve((_, response) => void response.end(JSON.stringify(card)))}/`;
}

test('commands agree to limits, show what was paid, and claim an agent', async () => {
  const environment = await home();
  const registered = await run(['register', await servedAgent(), '--price', '0.04'], environment);
  const id = registered.output.trim();
  expect((await run(['limits'], environment)).output).toContain('per day    no limit');
  expect((await run(['limits', '--per-call', 'much'], environment)).code).toBe(2);
  const agreed = await run(['limits', '--per-call', '0.05', '--per-day', '0.05', '--per-month', '1'], environment);
  expect(agreed).toMatchObject({ code: 0, output: expect.stringContaining('per call   $0.05') });
  expect(await run(['call', id, 'hello'], environment)).toMatchObject({ code: 0 });
  expect(await run(['call', id, 'hello'], environment)).toMatchObject({
    code: 1,
    errors: expect.stringContaining('$0.05 per day'),
  });
  expect((await run(['limits', '--per-day', 'none'], environment)).output).toMatch(/per day {4}no limit, \$0.04 used/);
  const paid = await run(['statement'], environment);
  expect(paid.output).toMatch(/^\d{4}-\d\d, local: \$0.04 for 1 paid calls\n\$0.04 {2}1 calls {2}Echo/);
  const json = JSON.parse((await run(['statement', '--json'], environment)).output);
  expect(json).toMatchObject({ calls: 1, receipts: [{ agentId: id, cost: 0.04, receipt: expect.any(String) }] });
  expect(await run(['claim', id], environment)).toMatchObject({
    code: 1,
    output: expect.stringMatching(/^agent3-owner=[\w-]{43}\n$/),
    errors: expect.stringContaining('/.well-known/agent3-owner.txt'),
  });
});

test("three commands register, find and call an agent, with a database in the user's data folder", async () => {
  const environment = await home();
  const url = await servedAgent();
  const options = ['--tag', 'parrot', '--price', '0.01', '--rate-limit', '3/3600'];
  const registered = await run(['register', url, ...options], environment);
  const wrong = await run(['register', url, '--rate-limit', 'often'], environment);
  expect(wrong).toMatchObject({ code: 2, errors: expect.stringContaining('--rate-limit must be CALLS/SECONDS') });
  const id = registered.output.trim();
  expect(registered).toMatchObject({ code: 0, output: expect.stringMatching(/^echo-\w+\n$/) });

  const [found, json, called, failed, streamed] = await Promise.all([
    run(['search', 'say', 'it', 'again', '--tag', 'parrot'], environment),
    run(['search', 'again', '--json'], environment),
    run(['call', id, 'hello', 'there'], environment),
    run(['call', id, 'fail'], environment),
    run(['call', id, 'task'], environment),
  ]);
  expect(found.output).toContain(`${id}  Echo: Says it again`);
  expect(found.output).toContain('$0.01 a call');
  expect(JSON.parse(json.output)).toMatchObject({ totalFound: 1, agents: [{ id }] });

  expect(called).toMatchObject({ code: 0, output: 'you said: hello there\n' });
  expect(failed).toMatchObject({ code: 1, errors: expect.stringContaining('oven') });
  expect(streamed).toEqual({ code: 0, output: 'one two three\n', errors: 'thinking\none two three\n' });
  const tooMany = await run(['call', id, 'once more'], environment);
  expect(tooMany).toMatchObject({ code: 1, errors: expect.stringContaining('too many calls') });
  const log = await run(['calls', '--agent', id, '--limit', '2'], environment);
  expect(log.output.split('\n')).toHaveLength(3);
  expect(log.output).toMatch(/^2\d{3}-\S+ {2}echo-\w+ {2}by local: /);
  expect(log.errors).toMatch(/^More: --cursor \d+\./);
  const logged = JSON.parse((await run(['calls', '--json'], environment)).output);
  expect(logged.calls).toHaveLength(4);
  expect((await stat(join(environment.XDG_DATA_HOME ?? '', 'agent3', 'agent3.db'))).mode & 0o077).toBe(0);
});

test('an MCP client starts it on stdio, and it exits with the client', async () => {
  const environment = await home();
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: main,
    env: { ...environment, AGENT3_LOG_LEVEL: 'debug' },
    stderr: 'pipe',
  });
  const client = new Client({ name: 'tests', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  const faults: Error[] = [];
  client.onerror = (error) => faults.push(error);
  await client.connect(transport);
  const { pid } = transport;
  const { call } = toolsOf(client);
  const { data: agent } = await call('agent3_register', { cardUrl: await servedAgent() });
  expect((await call('agent3_call', { agentId: agent.id, message: 'hi' })).data.result.text).toBe('you said: hi');
  const { isError, text } = await call('agent3_register', {
    cardUrl: 'http://127.0.0.1:1/',
    credentials: [{ type: 'bearer', token: 'hush' }],
  });
  expect([isError, text.includes('hush')]).toEqual([true, false]);
  await client.close();
  expect(faults).toEqual([]);
  expect(() => process.kill(pid ?? 0, 0)).toThrow();
});

test('a hub serves API, pages and MCP, accepts tokens of the token command, and exits on SIGTERM', async () => {
  const environment = await home();
  const token = (await run(['token', 'alice'], environment)).output.trim();
  const hub = start(['hub', '--port', '0'], environment);
  await expect.poll(hub.output).toContain('Agent3 is at');
  const url = /at (\S+)/.exec(hub.output())?.[1] ?? '';
  expect((await fetch(new URL('api/health', url))).status).toBe(200);
  expect((await fetch(new URL('mcp', url), { method: 'POST' })).status).toBe(401);

  const remote = { AGENT3_HUB_URL: url, AGENT3_HUB_TOKEN: token };
  const registered = await run(['register', await servedAgent()], remote);
  expect(registered).toMatchObject({ code: 0 });
  const id = registered.output.trim();
  expect(await (await fetch(new URL(`api/agents/${id}`, url))).json()).toMatchObject({ owner: 'alice' });
  expect((await run(['call', id, 'from', 'afar'], remote)).output).toBe('you said: from afar\n');

  hub.child.kill('SIGTERM');
  expect(await hub.ended).toEqual([0, null]);
  expect(hub.errors()).toBe('');
});

test('only protocol messages are written to stdout, even when it is stopped', async () => {
  const { child, output, ended } = start([], await home());
  const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
  child.stdin.write(`${JSON.stringify(request)}\n`);
  await expect.poll(output).toContain('\n');
  child.kill('SIGTERM');
  expect(await ended).toEqual([null, 'SIGTERM']);
  expect(
    output()
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).jsonrpc),
  ).toEqual(['2.0']);
});

test('a second hub on the same port exits with an error', async () => {
  const environment = await home();
  const port = new URL(await serve(() => {})).port;
  const { code, errors } = await run(['hub', '--port', port], environment);
  expect([code, errors]).toEqual([2, expect.stringContaining(`Cannot listen on 127.0.0.1 port ${port}`)]);
});

test('credentials need a key, are read from stdin, and appear nowhere afterwards', async () => {
  const environment = await home();
  const url = await servedAgent();
  const without = await run(['register', url, '--token', '-'], environment, 'very-secret-token\n');
  expect(without).toMatchObject({ code: 1, errors: expect.stringContaining('AGENT3_SECRET_KEY') });
  expect(without.errors).not.toContain('very-secret-token');
  const key = { AGENT3_SECRET_KEY: 'a long enough passphrase' };
  const chatty = { ...environment, ...key, AGENT3_LOG_LEVEL: 'debug' };
  const { code, output, errors } = await run(['register', url, '--token', '-'], chatty, 'very-secret-token\n');
  expect([code, /very-secret-token|passphrase/.test(output + errors)]).toEqual([0, false]);
  const file = join(environment.XDG_DATA_HOME ?? '', 'agent3', 'agent3.db');
  expect((await readFile(file)).includes('very-secret-token')).toBe(false);
});

test('help and version are printed, and invalid arguments give a one-line error', async () => {
  const environment = await home();
  expect((await run(['--help'], environment)).output).toContain('agent3 hub');
  expect((await run(['--version'], environment)).output).toMatch(/^\d+\.\d+\.\d+\n$/);
  const wrong: [string[], string][] = [
    [['dance'], 'unknown command "dance"; agent3 --help'],
    [['serach'], 'unknown command "serach" (did you mean "search"?)'],
    [['call', 'x'], 'agent3 call ID MESSAGE'],
    [['call', 'x', 'hi', '--timeout', '0'], '--timeout: '],
    [['search', '--colour'], "Unknown option '--colour'. Put arguments that start with a dash"],
    [['hub', '--prt', '1'], 'Unknown option \'--prt\'. Did you mean "--port"? See agent3 --help.'],
    [['register', 'https://agent.example/', '--price', 'abc'], '--price must be a number, not "abc"'],
    [['register', 'nota-url'], '"nota-url": must be an absolute http or https URL'],
    [['token', 'Not A Name'], 'lower-case letters'],
    [['hub'], 'unset it to run a hub here'],
  ];
  const elsewhere = { ...environment, AGENT3_HUB_URL: 'https://hub.example' };
  const answers = await Promise.all(wrong.map(([args]) => run(args, args[0] === 'hub' ? elsewhere : environment)));
  for (const [index, { code, errors, output }] of answers.entries()) {
    const [args, complaint] = wrong[index] ?? [];
    expect([args, code, output]).toEqual([args, 2, '']);
    expect(errors).toContain(complaint);
    expect(errors.trim().split('\n')).toHaveLength(1);
  }
});

test('a Node that is too old gets an error before anything else is loaded', async () => {
  const asIfOld = `
    import { registerHooks } from 'node:module';
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });
    const isFirst = ({ parentURL }, name) => parentURL === undefined || name.endsWith('/require-node');
    const resolve = (name, context, next) => (isFirst(context, name) ? next(name, context) : next('not:loadable'));
    registerHooks({ resolve });`;
  const preload = `data:text/javascript,${encodeURIComponent(asIfOld)}`;
  const { errors, ended } = start([], await home(), ['--import', preload]);
  expect(await ended).toEqual([2, null]);
  expect(errors()).toMatch(/^agent3 needs Node 22\.18 or newer; this is v[\d.]+\.\n$/);
});

test('all invalid settings are reported together, without their values', () => {
  const faulty = {
    AGENT3_PORT: 'eighty',
    AGENT3_PRIVATE: 'maybe',
    AGENT3_CONFIRM: 'sometimes',
    AGENT3_SECRET_KEY: 'short',
    AGENT3_HUB_TOKEN: 'a3_secret',
    AGENT3_PUBLIC_URL: 'ftp://example.com',
    DATABASE_URL: 'mysql://root:hunter2@db',
    AGENT3_TRUSTED_KEYS: '/nowhere/keys.json',
    AGENT3_DOLLARS_PER_DAY: 'ten',
    AGENT3_ALOW_HOSTS: 'x',
    AGENT3_X: 'x',
  };
  const complaint = String(fails(() => readSettings(faulty)));
  for (const name of Object.keys(faulty)) expect(complaint).toContain(`- ${name} `);
  expect(complaint).toContain('AGENT3_ALOW_HOSTS is not a setting of Agent3; did you mean AGENT3_ALLOW_HOSTS?');
  expect(complaint).toContain('AGENT3_X is not a setting of Agent3; agent3 --help lists all settings');
  expect(complaint).not.toMatch(/eighty|maybe|sometimes|short|a3_secret|hunter2/);
});

test('settings have defaults', async () => {
  const keys = join(await temporaryFolder(), 'keys.json');
  await writeFile(keys, JSON.stringify({ keys: [{ kid: 'one', kty: 'OKP' }] }));
  expect(readSettings({ XDG_DATA_HOME: '/data' })).toMatchObject({
    file: '/data/agent3/agent3.db',
    host: '127.0.0.1',
    port: 8333,
    confirm: 'paid',
    isPrivate: false,
    remote: undefined,
  });
  expect(
    readSettings({
      AGENT3_DB: 'x.db',
      DATABASE_URL: 'postgres://db/x',
      AGENT3_ALLOW_HOSTS: 'a, b:80 ,',
      AGENT3_PUBLIC_URL: 'https://hub.example/',
      AGENT3_PRIVATE: '1',
      AGENT3_TRUSTED_KEYS: keys,
      AGENT3_DOLLARS_PER_DAY: '2.5,alice=1',
      AGENT3_DOLLARS_PER_CALL: 'alice=0.1, bob=0.2',
    }),
  ).toMatchObject({
    file: 'x.db',
    databaseUrl: undefined,
    allowHosts: ['a', 'b:80'],
    publicUrl: 'https://hub.example',
    allowedHosts: ['hub.example'],
    isPrivate: true,
    trustedKeys: [{ kid: 'one' }],
    dollarsPerDay: { forAll: 2.5, byOwner: new Map([['alice', 1]]) },
    dollarsPerCall: {
      forAll: undefined,
      byOwner: new Map([
        ['alice', 0.1],
        ['bob', 0.2],
      ]),
    },
  });
});

test('a spending limit per call needs one per day', () => {
  const settings = (perCall: string, perDay: string) =>
    readSettings({ AGENT3_DOLLARS_PER_CALL: perCall, AGENT3_DOLLARS_PER_DAY: perDay });
  const refused = /AGENT3_DOLLARS_PER_CALL needs AGENT3_DOLLARS_PER_DAY/;
  expect(() => settings('0.05', '')).toThrow(refused);
  expect(() => settings('0.05', 'alice=1')).toThrow(refused);
  expect(() => settings('alice=0.05,bob=1', 'alice=1')).toThrow(refused);
  expect(settings('0.05', '5').dollarsPerCall.forAll).toBe(0.05);
  expect(settings('alice=0.05', 'alice=1').dollarsPerCall.byOwner.get('alice')).toBe(0.05);
  expect(() => settings('1,2', '5')).toThrow('AGENT3_DOLLARS_PER_CALL must be an amount in US dollars');
});

function fails(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
