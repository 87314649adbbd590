// What the bot is made from: variables and options, refused with the way out when they cannot work.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type BotOptions, createBot, DiscordBotError, readEnvironment } from '../src/index.ts';
import { startDiscord } from './counterpart/discord.ts';
import { spawnProgram } from './spawn-program.ts';
import { botOptions, startBot, temporaryFolder } from './start-bot.ts';

function faultsOf(work: () => unknown): string[] {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(DiscordBotError);
    expect(error).toMatchObject({ code: 'CONFIG_INVALID' });
    return error instanceof Error ? error.message.split('\n') : [];
  }
  return [];
}

const faultsIn = (env: Record<string, string>) => faultsOf(() => readEnvironment(env));

test('without a token the command explains the five steps, and what else is wrong', { timeout: 60_000 }, async () => {
  const { output, ended } = spawnProgram({ POCKET_DISCORD_HEALTH_PORT: '80000' });
  expect(await ended).toBe(2);
  for (const step of ['1.', '2.', '3.', '4.', '5.']) expect(output.stderr).toContain(`\n${step} `);
  expect(output.stderr).toContain('POCKET_DISCORD_HEALTH_PORT must be');
  expect(output.stdout).toBe('');
});

test('a Node that is too old is told so before anything else is loaded', { timeout: 60_000 }, async () => {
  const versions = '{ value: { ...process.versions, node: "20.19.0" } }';
  const old = `data:text/javascript,Object.defineProperty(process, "versions", ${versions})`;
  const { output, ended } = spawnProgram({}, [], ['--import', old]);
  expect(await ended).toBe(2);
  expect(output.stderr).toContain('pocket-discord needs Node 22.18 or newer');
});

test('all faults of the environment are told at once, each with its variable and no secret', () => {
  const faults = faultsIn({
    DISCORD_API_URL: 'nowhere',
    DATABASE_URL: 'mysql://root:hush@db/x',
    POCKET_DISCORD_MODELS: 'gpt-5, nonsense',
    POCKET_DISCORD_HEALTH_PORT: '65536',
    POCKET_DISCORD_USER_BUDGET: '-1',
    POCKET_DISCORD_LOG_LEVEL: 'loud',
    POCKET_DISCORD_MCP_SERVERS: '[',
    POCKET_DISCORD_MCP_HOSTS: 'example.com, https://example.org/mcp',
    POCKET_DISCORD_TOOLS: '/no/tools/there',
    POCKET_DISCORD_KNOWLEDGE: '/no/pages/there',
    POCKET_DISCORD_MODEL: 'demo',
    POCKET_DISCORD_PORT: 'tcp://10.0.0.1:80',
  });
  expect(faults.map((fault) => /^[A-Z_]+/.exec(fault)?.[0]).sort()).toEqual([
    'DATABASE_URL',
    'DISCORD_API_URL',
    'POCKET_DISCORD_HEALTH_PORT',
    'POCKET_DISCORD_KNOWLEDGE',
    'POCKET_DISCORD_LOG_LEVEL',
    'POCKET_DISCORD_MCP_HOSTS',
    'POCKET_DISCORD_MCP_SERVERS',
    'POCKET_DISCORD_MODEL',
    'POCKET_DISCORD_MODELS',
    'POCKET_DISCORD_TOOLS',
    'POCKET_DISCORD_USER_BUDGET',
  ]);
  const text = faults.join('\n');
  expect(text).toContain('Did you mean POCKET_DISCORD_MODELS?');
  expect(text).toContain('Unknown model "nonsense"');
  expect(text).toContain('"https://example.org/mcp"');
  expect(text).not.toContain('hush');
});

test.each([
  ['{"a": {"args": []}}', 'needs a "command"'],
  ['{"a": {"url": "example.com/mcp"}}', 'must be a whole address'],
  ['{"a": 7}', 'must be an object'],
])('POCKET_DISCORD_MCP_SERVERS=%s is refused at the start', (json, why) => {
  const [fault, ...others] = faultsIn({ POCKET_DISCORD_MCP_SERVERS: json });
  expect(fault).toContain('POCKET_DISCORD_MCP_SERVERS: MCP server "a"');
  expect(fault).toContain(why);
  expect(others).toEqual([]);
});

test('what is right becomes options; the database is made in a directory that is there', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'bot.db');
  const mcpServers = { a: { command: 'a-server' } };
  expect(
    readEnvironment({
      POCKET_DISCORD_MODELS: 'demo, gpt-5',
      POCKET_DISCORD_DB: file,
      POCKET_DISCORD_TOOLS: folder,
      POCKET_DISCORD_MCP_SERVERS: JSON.stringify({ mcpServers }),
      POCKET_DISCORD_MCP_HOSTS: 'example.com:8443, *',
      POCKET_DISCORD_HEALTH_PORT: '0',
    }),
  ).toMatchObject({
    models: [{ name: 'demo' }, { name: 'gpt-5' }],
    database: { file },
    toolDirectories: [folder],
    mcpServers,
    mcpHosts: ['example.com:8443', '*'],
    healthPort: 0,
  });
  expect(readEnvironment({ DATABASE_URL: 'postgres://db/x' })).toMatchObject({ database: { url: 'postgres://db/x' } });
  expect(faultsIn({ POCKET_DISCORD_DB: join(folder, 'missing', 'bot.db') })[0]).toContain('there is no directory');
  expect(faultsIn({ POCKET_DISCORD_DB: folder })[0]).toContain('is a directory');
});

test('createBot refuses what it would ignore and what can never work, all at once', () => {
  const wrong = {
    token: ' ',
    database: {},
    models: [{ name: 'demo' }, { name: 'demo' }, { name: 'gpt-5', visoin: true }],
    healthport: 80,
    healthPort: 70_000,
    closeGraceMs: -1,
    limits: { maxStep: 3 },
    mcpServers: { a: { url: 'nowhere' } },
  };
  // as a program without types would
  const faults = faultsOf(() => Reflect.apply(createBot, undefined, [wrong])).join('\n');
  for (const fault of [
    'token is empty',
    'database needs a file',
    'models has "demo" twice',
    'models[2] has no option "visoin". Did you mean "vision"?',
    'A bot has no option "healthport". Did you mean "healthPort"?',
    'healthPort must be a whole number',
    'closeGraceMs must be a number',
    'limits has no option "maxStep". Did you mean "maxSteps"?',
    'mcpServers: MCP server "a"',
  ]) {
    expect(faults).toContain(fault);
  }
  const right: BotOptions = { token: 'x', database: { file: ':memory:' }, models: [{ name: 'demo' }] };
  expect(faultsOf(() => createBot(right))).toEqual([]);
  expect(faultsOf(() => createBot({ ...right, models: [] }))[0]).toContain('models is empty');
  expect(faultsOf(() => createBot({ ...right, models: [{ name: 'no-such' }] }))[0]).toContain('Unknown model');
});

test('what shows only at the start is told with the way out, and leaves nothing open', async () => {
  const discord = await startDiscord({ privilegedIntents: [] });
  onTestFinished(() => discord.close());
  const busy = createServer().listen(0);
  onTestFinished(() => void busy.close());
  const address = busy.address();
  const healthPort = typeof address === 'object' ? address?.port : undefined;
  const options = await botOptions(discord, {});
  const starting = (changed: Partial<BotOptions>) => expect(createBot({ ...options, ...changed }).start()).rejects;
  const refusedWith = (text: string) =>
    expect.objectContaining({ code: 'CONFIG_INVALID', message: expect.stringContaining(text) });
  await starting({ healthPort: healthPort ?? 0 }).toEqual(refusedWith('POCKET_DISCORD_HEALTH_PORT'));
  await starting({ toolDirectories: ['/no/tools/there'] }).toEqual(refusedWith('POCKET_DISCORD_TOOLS'));
  await starting({ database: { file: '/dev/null/bot.db' } }).toEqual(refusedWith('POCKET_DISCORD_DB'));
  const keyless = [{ name: 'openai/gpt-5', modelSettings: { apiKey: '' } }];
  await starting({ models: keyless }).toEqual(refusedWith('OPENAI_API_KEY'));
  expect(discord.requests).toEqual([]); // nobody was logged in
  await starting({ database: { url: 'postgres://me@127.0.0.1:1/bot' } }).toMatchObject({ code: 'DATABASE_FAILED' });
  await starting({ token: 'wrong' }).toThrow('set DISCORD_TOKEN');
  await starting({}).toThrow('Message Content Intent');
  const elsewhere = discord.apiUrl.replace('/api', '/elsewhere');
  await starting({ apiUrl: elsewhere }).toThrow(/answered 404.*DISCORD_API_URL/);
});

test('the log says which tool folders are there, and what is wrong with the others', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'broken'));
  await writeFile(join(root, 'broken', 'manifest.yaml'), 'tool_human_name: broken\ntool_list: 7\n');
  let ready: Record<string, unknown> = {};
  const logger = {
    debug() {},
    info(_message: string, fields = {}) {
      ready = fields;
    },
    warn() {},
    error() {},
  };
  await startBot({ toolDirectories: [root], logger });
  expect(ready.tools).toContain('fetch_date_time');
  expect(ready.tools).not.toContain('broken');
  expect(ready.brokenTools).toEqual([expect.stringContaining('broken/manifest.yaml:2')]);
});
