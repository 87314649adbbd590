// The command `pocket-agent gateway`: a file served over HTTP, the tokens of callers, and wrong usage.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { openGatewayState } from '@pocket-agent/gateway';
import { afterEach, expect, test } from 'vitest';
import { startProtectedHost } from '../../pocket-agent/test/fixtures/servers/authorization-server.ts';
import { CommandFolder, stdioServer } from './fixtures/command.ts';
import { freePort, gatewayFile, startCommand, startGateway } from './fixtures/gateway.ts';

const folder = new CommandFolder();
const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

test('serves HTTP to callers with tokens, which can be added and revoked while it runs', async () => {
  const state = `${folder.path}/state.sqlite`;
  const { child, ended, url, told } = await startGateway(folder, await gatewayFile(folder), state);
  expect(told()).toContain('There are no callers yet: pocket-agent gateway token add NAME');

  const run = (...args: string[]) => folder.command(['gateway', 'token', ...args, '--state', state]);
  const added = await run('add', 'ann', '--profile', 'reader', '--server', 'pl*', '--per-day', '5');
  const token = added.stdout.trim();
  expect([added.code, token.startsWith('pgw_')]).toEqual([0, true]);
  expect((await run('add', 'ann', '--profile', 'reader')).stderr).toContain('There is a caller "ann" already');
  expect(added.stderr).not.toContain('profile');
  expect((await run('add', 'bob', '--profile', 'readr')).stderr).toContain(
    'The file of the gateway must define the profile "readr", because it is not one of reader, writer, manager, admin. ' +
      'Otherwise the gateway refuses the token. Did you mean "reader"?',
  );
  expect((await run('revoke', 'bob')).code).toBe(0);
  expect((await run('list')).stdout).toMatch(/^ann {2}reader {2}pl\* {2}5\/day {2}\d{4}-\d{2}-\d{2}\n$/);

  const client = new Client({ name: 'tests', version: '1' });
  ends.push(() => client.close());
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
  const names = (await client.listTools()).tools.map(({ name }) => name);
  expect(names.filter((name) => !name.startsWith('plain__'))).toEqual([]);
  expect(names.length).toBeGreaterThan(0);

  const coder = new Client({ name: 'tests', version: '1' });
  ends.push(() => coder.close());
  const added2 = await run('add', 'bob', '--profile', 'reader', '--server', 'pl*', '--expose', 'code');
  const bob = { headers: { authorization: `Bearer ${added2.stdout.trim()}` } };
  await coder.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: bob }));
  expect((await coder.listTools()).tools.map(({ name }) => name)).toEqual(['find_tools', 'run_code']);
  const answer = await coder.callTool({ name: 'run_code', arguments: { code: 'return Object.keys(tools).length' } });
  expect(answer.content).toEqual([{ type: 'text', text: String(names.length) }]);

  // the file is read again when it changes; a broken one changes nothing
  await folder.file('gateway.json', '{ "mcpServers": ');
  await expect.poll(told).toContain('gateway.json was not used:');
  expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(names);
  await gatewayFile(folder, { mcpServers: { plain2: { command: process.execPath, args: [stdioServer] } }, tools: [] });
  await expect.poll(told).toContain('gateway.json was read again.\n');
  await expect
    .poll(async () => (await client.listTools()).tools.map(({ name }) => name))
    .toEqual(names.map((name) => name.replace('plain__', 'plain2__')));

  await gatewayFile(folder, { approvals: { endpoint: true }, tools: [] });
  await expect.poll(told).toContain('Start the gateway again to use the changes of approvals.');

  expect((await run('revoke', 'ann')).code).toBe(0);
  expect((await run('revoke', 'ann')).code).toBe(1);
  await expect(client.listTools()).rejects.toThrow('Invalid token');
  child.kill('SIGTERM');
  expect(await ended).toBe(143);
});

test('a caller logs in at a server behind the gateway', async () => {
  const host = await startProtectedHost();
  ends.push(() => host.close());
  const redirectUrl = `http://127.0.0.1:${await freePort()}/back`;
  const mcpServers = { crm: { url: host.url, login: { redirectUrl } } };
  const state = `${folder.path}/logins.sqlite`;
  const { url } = await startGateway(folder, await gatewayFile(folder, { mcpServers }), state);
  const added = await folder.command(['gateway', 'token', 'add', 'ann', '--profile', 'admin', '--state', state]);
  const env = { POCKET_AGENT_GATEWAY_TOKEN: added.stdout.trim() };
  const login = (args: string[], given: Record<string, string> = env) =>
    folder.command(['gateway', 'login', ...args], { env: given });
  expect((await login(['--url', url])).stdout).toBe('crm  not logged in\n');

  const page = startCommand(folder, ['gateway', 'login', 'crm', '--url', url], env);
  const back = await host.logIn(new URL(await page.firstLine));
  expect(back.href.startsWith(`${redirectUrl}?`)).toBe(true);
  expect((await fetch(new URL('/other', back))).status).toBe(404);
  expect(await (await fetch(back)).text()).toBe('Thank you. You can close this page.');
  expect(await page.ended).toBe(0);
  expect((await login(['--url', url])).stdout).toBe('crm  logged in\n');
  expect((await login(['crm', '--url', url])).stderr).toContain('You are logged in to crm.');

  const logins = (...args: string[]) => folder.command(['gateway', 'logins', ...args, '--state', state]);
  expect((await logins()).stdout).toBe(`ann  crm  ${host.url}\n`);
  const logout = (...args: string[]) => folder.command(['gateway', 'logout', ...args], { env });
  expect(await logout('crm', '--url', url)).toMatchObject({ code: 0, stderr: expect.stringContaining('out of crm') });
  expect((await logout('--url', url)).stderr).toContain('pocket-agent gateway logout SERVER --url');
  expect((await logins('list', '--json')).stdout).toBe('');
  expect(await logins('remove', 'ann')).toMatchObject({ code: 1, stderr: '"ann" has no login.\n' });
  expect((await logins('remove')).stderr).toContain('logins takes list, or remove CALLER [SERVER]');
  expect((await login(['other', '--url', url])).stderr).toContain('404: There is no login at "other" for you.');
  expect((await login(['crm', '--url', url], {})).stderr).toContain('into the variable POCKET_AGENT_GATEWAY_TOKEN');
  expect((await login(['crm'])).stderr).toContain('pocket-agent gateway login [SERVER] --url');
  expect((await login(['crm', '--url', 'gateway'])).stderr).toContain('must be the address of the gateway');
});

test('calls that wait for an answer are listed with all that is needed for it', async () => {
  const location = `${folder.path}/questions.sqlite`;
  const run = (...args: string[]) => folder.command(['gateway', 'approvals', ...args, '--state', location]);
  const state = await openGatewayState(location);
  ends.push(() => state.close());
  expect(await run()).toMatchObject({ code: 0, stdout: 'No call waits for an answer.\n' });
  const askedAt = Date.now() - 300_000;
  const about = { caller: 'ann', tool: 'files__write', capability: 'write' as const, hash: 'h', changed: true };
  const args = { path: 'b.txt', text: 'one\ntwo\u001b[31m' };
  const times = { askedAt, expiresAt: askedAt + 10_800_000 };
  await state.ask({ id: 'question-1', ...about, description: 'Writes\na file', arguments: args, ...times });
  const { stdout } = await run('list');
  expect(stdout.replace(/asked \d+ min ago/, 'asked N min ago')).toBe(
    [
      'ann wants to call files__write (write), asked N min ago, expires in 3 h',
      '  Writes a file',
      '  The definition of this tool has changed since it was first seen.',
      '  path: "b.txt"',
      '  text: "one\\ntwo\\u001b[31m"',
      '  ID question-1',
      '',
      'Answer, with the same --state: pocket-agent gateway approvals allow ID, or deny ID "why"',
      '',
    ].join('\n'),
  );
  const { stdout: json } = await run('--json');
  expect(JSON.parse(json)).toMatchObject({ id: 'question-1', arguments: args });
});

test.each([
  [['gateway'], 'Give one file with "mcpServers": pocket-agent gateway FILE'],
  [['gateway', 'a.json', '--per-day', '5'], '--per-day belongs to pocket-agent gateway token add.'],
  [['gateway', 'a.json', '--http', '--profile', 'reader'], 'over HTTP each token has its own'],
  [['gateway', 'a.json', '--always'], '--always belongs to pocket-agent gateway approvals allow.'],
  [['gateway', 'token', 'add', 'local', '--profile', 'reader', '--state', ':memory:'], 'on stdin and stdout'],
  [['gateway', 'token', 'add', 'ann', '--profile', 'reader', '--usd-per-day', '-1'], '--usd-per-day'],
  [['gateway', 'approvals', 'allow'], 'Give the ID of one question: pocket-agent gateway approvals allow ID'],
  [['gateway', 'tokn', 'list'], 'Did you mean "token"?'],
  [['gateway', 'approvals', '--state', 'none.sqlite'], 'There is no state of a gateway at none.sqlite.'],
  [['gateway', 'approvals', 'allow', 'x', '--arguments', '5'], '--arguments must be a JSON object.'],
  [['gateway', 'token', 'add', 'ann'], 'Give the profile of the caller: --profile reader, writer, manager, admin'],
  [['gateway', 'token', 'remove', 'ann'], 'takes add NAME, list or revoke NAME'],
  [['gateway', 'token', 'add', 'Ann B', '--profile', 'reader', '--state', ':memory:'], 'lower-case letters'],
])('%j is wrong usage', async (args, words) => {
  const { code, stderr } = await folder.command(args);
  expect(stderr).toContain(words);
  expect(code).toBe(2);
});

test.each([
  [{ mcpServer: {} }, 'has no option "mcpServer". Did you mean "mcpServers"?'],
  [{ access: { confirm: 'sometimes' } }, 'confirm'],
  [{ access: { redact: ['('] } }, 'access.redact'],
  [{ profiles: { a: { capabilities: ['reed'] } } }, 'not "reed"'],
  [{ agents: { helper: null } }, 'agents.helper must be an object such as { "url": "https://…" }, got null.'],
  [
    { agents: { helper: { url: 'http://x', headers: { 'x-key': 5 } } } },
    'agents.helper.headers.x-key must be a string',
  ],
  [{ agents: { helper: { url: 'http://x', token: 5 } } }, 'agents.helper.token must be a string'],
  [
    { approvals: { mattermost: { url: 'https://x', channel: 'c', token: `$\{NO_CHAT_TOKEN}` } } },
    'approvals.mattermost.token needs the environment variable NO_CHAT_TOKEN, which is not set.',
  ],
  [
    { agents: { helper: { url: 'http://x', token: `$\{NO_AGENT_TOKEN}` } } },
    'agents.helper.token needs the environment variable NO_AGENT_TOKEN, which is not set.',
  ],
  [{ mcpServers: { 'my files': { command: 'x' } } }, 'The server name "my files" must begin with a letter'],
])('a file with %j is refused', async (more, words) => {
  const { code, stderr } = await folder.command(['gateway', await gatewayFile(folder, more)]);
  expect(stderr).toContain(words);
  expect(code).toBe(2);
});
