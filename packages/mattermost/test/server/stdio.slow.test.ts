// The command mcp-server-mattermost as a process on stdio or HTTP: output and exit.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { expect, onTestFinished, test } from 'vitest';
import { quickStart } from '../../../pocket-agent/test/fixtures/programs/quick-start.ts';
import { callTool, eras, newClient } from '../connect.ts';
import { fakeForTest, folderForTest, runForTest } from '../resources.ts';
import { listening, open, uriOf, watching } from './watching.ts';

const main = ['-C', 'pocket-agent/source', fileURLToPath(new URL('../../src/main.ts', import.meta.url))];
const run = (args: string[], environment: Record<string, string> = {}, cwd = tmpdir()) =>
  runForTest({ file: 'main.ts', args, environment, cwd });

async function startFake() {
  const fake = await fakeForTest();
  return { fake, environment: { MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: fake.token('alice') } };
}

test.each(eras)('a client of %s starts it, calls it, watches a channel, and stops it', async (era) => {
  const { fake, environment } = await startFake();
  const folder = await folderForTest();
  const transport = new StdioClientTransport({
    // limit file sizes to about 64 kB, to simulate a full disk
    command: 'sh',
    args: ['-c', 'ulimit -f 64; exec "$0" "$@"', process.execPath, ...main],
    env: { ...quickStart, ...environment, MATTERMOST_FILE_ROOTS: folder },
    cwd: tmpdir(),
    stderr: 'pipe',
  });
  let errors = '';
  transport.stderr?.on('data', (chunk) => {
    errors += chunk;
  });
  const client = newClient(era);
  await client.connect(transport);
  onTestFinished(() => client.close());
  expect((await client.listTools()).tools).toHaveLength(53);
  const channel_id = fake.channel('off-topic').id;
  const post = { channel_id, message: 'Hello from my agent!' };
  expect((await callTool(client, { name: 'post_message', args: post })).data.message).toBe('Hello from my agent!');

  const watcher = watching(client, era);
  const uri = uriOf(fake, 'town-square');
  const unsubscribe = await watcher.subscribe(uri);
  await listening(fake);
  fake.say('bob', 'town-square', 'over stdio');
  await expect.poll(() => watcher.updates).toEqual([uri]);
  await unsubscribe();
  await open(fake, 0);

  const large = { channel_id, filename: 'large.bin', content_base64: Buffer.alloc(200_000).toString('base64') };
  const { data: file } = await callTool(client, { name: 'upload_file', args: large });
  const { text } = await callTool(client, { name: 'download_file', args: { file_id: file.id } });
  expect(text).toMatch(/^File error: "large\.bin": EFBIG/);
  expect(await readdir(folder)).toEqual([]);

  await client.close();
  expect(errors).toContain('tool_call_success');
  expect(errors).not.toContain(environment.MATTERMOST_TOKEN);
  expect(errors).not.toContain('Hello from my agent!');
});

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
};

test('stdout contains only the protocol, and SIGTERM stops it during a call', async () => {
  const { fake, environment } = await startFake();
  fake.fail({ path: /users\/me\/teams$/, delayMs: 60_000 });
  const { child, output, ended } = run([], { ...environment, MATTERMOST_LOG_LEVEL: 'debug' });
  const call = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'list_teams', arguments: {} } };
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  await expect.poll(output).toContain('"id":1');
  child.stdin.write(
    `${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n${JSON.stringify(call)}\n`,
  );
  await expect.poll(() => fake.inFlight).toBe(1);
  child.kill('SIGTERM');
  await ended;
  await expect.poll(() => fake.inFlight).toBe(0);
  for (const line of output().trim().split('\n')) expect(JSON.parse(line)).toMatchObject({ jsonrpc: '2.0' });
});

test('it exits when its client disconnects', async () => {
  const { environment } = await startFake();
  const { child, output, ended } = run([], environment);
  child.stdin.write(`${JSON.stringify(initialize)}\n`);
  await expect.poll(output).toContain('"id":1');
  child.stdin.end();
  expect(await ended).toEqual([0, null]);
});

test('over HTTP it logs its URL, reads .env, and exits cleanly on SIGTERM', async () => {
  const { environment } = await startFake();
  const folder = await folderForTest();
  const secret = 'planted-client-token-42';
  const lines = [
    ...Object.entries(environment),
    ['MATTERMOST_HTTP_TOKEN', secret],
    ['MATTERMOST_PROFILE', 'reader'],
    ['MCP_PORT', '1'],
  ];
  await writeFile(join(folder, '.env'), lines.map(([name, value]) => `${name}=${value}`).join('\n'));
  const { child, output, errors, ended } = run(['--http', '--port', '0'], {}, folder);
  await expect.poll(errors).toContain('listening');
  const line =
    errors()
      .split('\n')
      .find((one) => one.includes('listening')) ?? '';
  expect(JSON.parse(line)).toMatchObject({ profile: 'reader', auth_mode: 'static_token', tools: 30 });
  const { url } = JSON.parse(line);
  expect((await fetch(new URL('/ready', url))).status).toBe(200);
  expect((await fetch(url, { method: 'POST', body: '{}' })).status).toBe(401);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(output()).toBe('');
  expect(errors()).not.toContain(secret);
  expect(errors()).not.toContain(environment.MATTERMOST_TOKEN);
});

test('a rejected token is reported at startup and by /ready', async () => {
  const { fake } = await startFake();
  const environment = { MATTERMOST_URL: fake.url, MATTERMOST_TOKEN: 'planted-and-wrong-token' };
  const secret = { MATTERMOST_HTTP_TOKEN: 'planted-client-token-42' };
  const { child, errors, ended } = run(['--http', '--port', '0'], { ...environment, ...secret });
  await expect.poll(errors).toMatch(/"warning".*Mattermost rejects MATTERMOST_TOKEN/);
  const url = /http:\/\/[^"]+/.exec(errors())?.[0] ?? '';
  const response = await fetch(new URL('/ready', url));
  expect([response.status, await response.json()]).toMatchObject([503, { status: 'token refused' }]);
  child.kill('SIGTERM');
  expect(await ended).toEqual([0, null]);
  expect(errors()).not.toContain('planted');
});

test('in a terminal it says that it waits for a client', async () => {
  const { environment } = await startFake();
  const asInTerminal = ['--import', 'data:text/javascript,process.stdin.isTTY=true'];
  const child = spawn(process.execPath, [...asInTerminal, ...main], {
    env: { ...quickStart, ...environment },
    cwd: tmpdir(),
  });
  let errors = '';
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const ended = once(child, 'close');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await expect.poll(() => errors).toContain('Waiting for an MCP client on stdin. Use --http');
});

test('help, version and invalid settings exit immediately, with all errors and no secret', async () => {
  const secret = 'planted secret with spaces';
  const runs = [
    run(['--version']),
    run(['--help']),
    run(['--prot', '1']),
    run(['--port', 'x'], { MATTERMOST_TOKEN: secret }),
  ];
  const codes = await Promise.all(runs.map(async ({ ended }) => (await ended)[0]));
  expect(codes).toEqual([0, 0, 2, 2]);
  const [version, help, misspelt, invalid] = runs;
  expect(version?.output()).toMatch(/^\d+\.\d+\.\d+\n$/);
  expect(help?.output()).toContain('--http');
  expect(misspelt?.errors()).toContain('Did you mean "--port"? See mcp-server-mattermost --help.');
  expect(invalid?.errors()).toMatch(/MATTERMOST_URL is missing[\s\S]*\n- --port: is "x"/);
  expect(invalid?.errors()).not.toContain('MCP_PORT');
  expect(invalid?.errors()).not.toContain(secret);
  expect(invalid?.output()).toBe('');
});

test.each([
  ['mcp-server-mattermost', 'main.ts'],
  ['mattermost-bot', 'bot/main.ts'],
])('%s reports an unsupported Node version before it loads anything else', async (name, file) => {
  const asIfOld = `
    import { registerHooks } from 'node:module';
    Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.19.0' } });
    const isAllowed = (name, context) => !context.parentURL || name === '@pocket-agent/kit/require-node';
    const resolve = (name, context, next) => next(isAllowed(name, context) ? name : 'not:loadable', context);
    registerHooks({ resolve });`;
  const preload = ['--import', `data:text/javascript,${encodeURIComponent(asIfOld)}`];
  const program = fileURLToPath(new URL(`../../src/${file}`, import.meta.url));
  const env = { ...process.env, NODE_OPTIONS: '' }; // without bundles
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', ...preload, program], { env });
  const [errors, [code]] = await Promise.all([textOf(child.stderr), once(child, 'close')]);
  expect([code, errors]).toEqual([2, `${name} needs Node 22.18 or newer; this is v20.19.0.\n`]);
});
