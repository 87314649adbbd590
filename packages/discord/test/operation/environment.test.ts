// Options and environment variables: invalid ones are refused with advice.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { type BotOptions, createBot, DiscordBotError, readEnvironment } from '../../src/index.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { spawnProgram } from '../support/spawn-program.ts';
import { answers, botOptions, quiet, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

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

test('without a token the command prints five steps and all other problems', async () => {
  const { output, ended } = spawnProgram({ POCKET_DISCORD_HEALTH_PORT: '80000', DISCORD_BOT_TOKEN: 'hush' });
  expect(await ended).toBe(2);
  for (const step of ['1.', '2.', '3.', '4.', '5.']) expect(output.stderr).toContain(`\n${step} `);
  expect(output.stderr).toContain('POCKET_DISCORD_HEALTH_PORT must be');
  expect(output.stderr).toContain('DISCORD_BOT_TOKEN is set; did you mean DISCORD_TOKEN?');
  expect(output.stderr).not.toContain('hush');
  expect(output.stdout).toBe('');
});

test('a misspelt option is refused with a suggestion', async () => {
  const { output, ended } = spawnProgram({}, { args: ['--shard', '2'] });
  expect(await ended).toBe(2);
  expect(output.stderr).toContain('Did you mean "--shards"? See pocket-discord --help.');
});

test('the port 0 of the studio is any free one for each shard, and a token that was given is not logged', async () => {
  const { output } = spawnProgram({
    ...{ DISCORD_TOKEN: 'x', DISCORD_API_URL: 'http://127.0.0.1:9/api', POCKET_DISCORD_DB: ':memory:', SHARDS: '1' },
    ...{ POCKET_DISCORD_STUDIO: '0', POCKET_AGENT_STUDIO_TOKEN: 'the-token' },
  });
  await expect.poll(() => output.stderr).toContain('"Studio"');
  const line = output.stderr.split('\n').find((each) => each.includes('"Studio"')) ?? '';
  const { url } = JSON.parse(line) as { url: string };
  expect(Number(new URL(url).port)).toBeGreaterThan(1);
  const status = (headers = {}) => fetch(`${url}/api/events`, { headers }).then((response) => response.status);
  expect(await status()).toBe(401);
  expect(output.stderr).not.toContain('the-token');
});

test('an old Node version is reported before anything else is loaded', async () => {
  const versions = '{ value: { ...process.versions, node: "20.19.0" } }';
  const old = `data:text/javascript,Object.defineProperty(process, "versions", ${versions})`;
  const { output, ended } = spawnProgram({}, { options: ['--import', old] });
  expect(await ended).toBe(2);
  expect(output.stderr).toContain('pocket-discord needs Node 22.18 or newer');
});

test('all problems of environment variables are reported together, without secrets', () => {
  const faults = faultsIn({
    DISCORD_API_URL: 'nowhere',
    DATABASE_URL: 'mysql://root:hush@db/x',
    POCKET_DISCORD_MODELS: 'gpt-5, nonsense, gpt-5',
    POCKET_DISCORD_HEALTH_PORT: '65536',
    POCKET_DISCORD_USER_BUDGET: '-1',
    POCKET_DISCORD_LOG_LEVEL: 'loud',
    POCKET_DISCORD_MCP_SERVERS: '[',
    POCKET_DISCORD_GUILDS: '123456789012345678, my server',
    POCKET_DISCORD_DIRECT_MESSAGES: '123456789012345678, ann',
    POCKET_DISCORD_MCP_HOSTS: 'example.com, https://example.org/mcp, example.com:99999',
    POCKET_DISCORD_PRICES: '{"gpt-5": {"input": 1}}',
    POCKET_DISCORD_TOOLS: '/no/tools/there',
    POCKET_DISCORD_KNOWLEDGE: '/no/pages/there',
    POCKET_DISCORD_MODEL: 'demo',
    POCKET_DISCORD_PORT: 'tcp://10.0.0.1:80',
  });
  expect([...new Set(faults.map((fault) => /^[A-Z_]+/.exec(fault)?.[0]))].sort()).toEqual([
    'DATABASE_URL',
    'DISCORD_API_URL',
    'POCKET_DISCORD_DIRECT_MESSAGES',
    'POCKET_DISCORD_GUILDS',
    'POCKET_DISCORD_HEALTH_PORT',
    'POCKET_DISCORD_KNOWLEDGE',
    'POCKET_DISCORD_LOG_LEVEL',
    'POCKET_DISCORD_MCP_HOSTS',
    'POCKET_DISCORD_MCP_SERVERS',
    'POCKET_DISCORD_MODEL',
    'POCKET_DISCORD_MODELS',
    'POCKET_DISCORD_PRICES',
    'POCKET_DISCORD_TOOLS',
    'POCKET_DISCORD_USER_BUDGET',
  ]);
  const text = faults.join('\n');
  expect(text).toContain('Did you mean POCKET_DISCORD_MODELS?');
  expect(text).toContain('Unknown model "nonsense"');
  expect(text).not.toMatch(/pass an AI SDK model|option "router"/);
  expect(text).toContain('POCKET_DISCORD_MODELS names "gpt-5" twice.');
  expect(text).toContain('"https://example.org/mcp"');
  expect(text).toContain('"example.com:99999"');
  expect(text).not.toContain('hush');
});

test.each([
  ['{"a": {"args": []}}', 'needs a "command"'],
  ['{"a": {"url": "example.com/mcp"}}', 'example.com/mcp'],
  ['{"a": 7}', 'must be an object'],
  [
    ['{"a": {"url": "https://example.com", "headers": {"X-Key": "$', '{NOT_SET}"}}}'].join(''),
    'needs the environment variable NOT_SET',
  ],
])('POCKET_DISCORD_MCP_SERVERS=%s is refused', (json, why) => {
  const [fault, ...others] = faultsIn({ POCKET_DISCORD_MCP_SERVERS: json });
  expect(fault).toContain('POCKET_DISCORD_MCP_SERVERS: MCP server "a"');
  expect(fault).toContain(why);
  expect(others).toEqual([]);
});

test('valid variables become options, and the directory of the database must exist', async () => {
  const folder = await temporaryFolder();
  const file = join(folder, 'bot.db');
  const mcpServers = { a: { command: 'a-server' } };
  expect(
    readEnvironment({
      POCKET_DISCORD_MODELS: 'demo, gpt-5',
      POCKET_DISCORD_DB: file,
      POCKET_DISCORD_TOOLS: folder,
      POCKET_DISCORD_MCP_SERVERS: JSON.stringify({ mcpServers }),
      POCKET_DISCORD_GUILDS: '123456789012345678, 223456789012345678',
      POCKET_DISCORD_DIRECT_MESSAGES: 'nobody',
      POCKET_DISCORD_MCP_HOSTS: 'example.com:8443, *',
      POCKET_DISCORD_HEALTH_PORT: '0',
      POCKET_DISCORD_MODEL_OPTIONS: '{"gpt-5": {"maxOutputTokens": 4000, "reasoning": "low"}}',
      POCKET_DISCORD_PRICES: '{"gpt-5": {"input": 1, "output": 2}}',
    }),
  ).toMatchObject({
    models: [{ name: 'demo' }, { name: 'gpt-5', completionOptions: { maxOutputTokens: 4000, reasoning: 'low' } }],
    database: { file },
    toolDirectories: [folder],
    mcpServers,
    mcpHosts: ['example.com:8443', '*'],
    guilds: ['123456789012345678', '223456789012345678'],
    directMessages: [],
    healthPort: 0,
    prices: { 'gpt-5': { input: 1, output: 2 } },
  });
  expect(readEnvironment({ DATABASE_URL: 'postgres://db/x' })).toMatchObject({ database: { url: 'postgres://db/x' } });
  expect(faultsIn({ POCKET_DISCORD_DB: join(folder, 'missing', 'bot.db') })[0]).toContain('there is no directory');
  expect(faultsIn({ POCKET_DISCORD_DB: folder })[0]).toContain('is a directory');
});

test.each([
  ['[]', 'must be JSON such as'],
  ['{"gpt-4": {}}', 'has "gpt-4", but POCKET_DISCORD_MODELS names gpt-5'],
  ['{"gpt-5": 7}', ': "gpt-5" must be an object such as {"temperature": 0}'],
  ['{"gpt-5": {"maxOutputTokens": "4000"}}', ': "gpt-5": maxOutputTokens must be a whole number greater than 0'],
  ['{"gpt-5": {"reasoning": "lots"}}', 'reasoning must be one of'],
  ['{"gpt-5": {"temprature": 0}}', ': "gpt-5" has no option "temprature". Did you mean "temperature"?'],
])('POCKET_DISCORD_MODEL_OPTIONS=%s is refused', (json, why) => {
  const faults = faultsIn({ POCKET_DISCORD_MODELS: 'gpt-5', POCKET_DISCORD_MODEL_OPTIONS: json });
  expect(faults).toEqual([expect.stringContaining(`POCKET_DISCORD_MODEL_OPTIONS`)]);
  expect(faults[0]).toContain(why);
});

test('createBot reports all unknown options and invalid values together', () => {
  const wrong = {
    token: ' ',
    database: {},
    models: [{ name: 'demo' }, { name: 'demo' }, { name: 'gpt-5', visoin: true, completionOptions: { maxTokens: 9 } }],
    healthport: 80,
    healthPort: 70_000,
    closeGraceMs: -1,
    limits: { maxStep: 3 },
    mcpServers: { a: { url: 'nowhere' } },
  };
  // like a JavaScript program
  const faults = faultsOf(() => Reflect.apply(createBot, undefined, [wrong])).join('\n');
  for (const fault of [
    'token is empty',
    'database needs a file',
    'models has "demo" twice',
    'models[2] has no option "visoin". Did you mean "vision"?',
    'models[2].completionOptions has no option "maxTokens". Did you mean "maxOutputTokens"?',
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

test('problems found at the start say what to do, and nothing stays open', async () => {
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
  const errors: string[] = [];
  const logger = { ...quiet, error: (text: string) => void errors.push(text) };
  await starting({ database: { file: '/dev/null/bot.db' }, logger }).toEqual(refusedWith('POCKET_DISCORD_DB'));
  expect(errors).toEqual([]);
  const keyless = [{ name: 'openai/gpt-5', modelSettings: { apiKey: '' } }];
  await starting({ models: keyless }).toEqual(refusedWith('OPENAI_API_KEY'));
  expect(discord.requests).toEqual([]); // no login was attempted
  await starting({ database: { url: 'postgres://me@127.0.0.1:1/bot' } }).toMatchObject({ code: 'DATABASE_FAILED' });
  await starting({ token: 'wrong' }).toThrow('set DISCORD_TOKEN');
  await starting({}).toThrow('Message Content Intent');
  const elsewhere = discord.apiUrl.replace('/api', '/elsewhere');
  await starting({ apiUrl: elsewhere }).toThrow(/answered 404.*DISCORD_API_URL/);
  busy.on('request', (_request, response) => response.setHeader('content-type', 'text/html').end('<h1>Hello</h1>'));
  const page = `http://127.0.0.1:${healthPort}`;
  await starting({ apiUrl: page }).toThrow(`${page} does not answer like Discord's API`);
});

test('the log lists usable tool folders and the problems of the others', async () => {
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

test('a model without its key is skipped with a warning, but the default model is required', async () => {
  const told: unknown[] = [];
  const logger = {
    ...quiet,
    warn: (_message: string, { reason }: { reason?: unknown } = {}) => void told.push(reason),
  };
  const keyless = { name: 'openai/gpt-5', modelSettings: { apiKey: '' } };
  const { discord, options } = await startBot({ models: [{ name: 'demo' }, keyless], logger });
  expect(told).toEqual([expect.stringContaining('OPENAI_API_KEY')]);
  const ann = discord.user('ann');
  expect((await ann.command('model', { channel: ann.dm }).reply()).content).toContain('Available: `demo`.');
  const refused = await ann.command('model', { channel: ann.dm, options: { name: keyless.name } }).reply();
  expect(refused.content).toContain('Unknown model');
  const other = createBot({ ...options, models: [keyless, { name: 'demo' }] });
  await expect(other.start()).rejects.toThrow('OPENAI_API_KEY');
});

test('with a budget, a model without a price is skipped, or refused as the default model', async () => {
  const told: unknown[] = [];
  const logger = {
    ...quiet,
    warn: (_message: string, { reason }: { reason?: unknown } = {}) => void told.push(reason),
  };
  const model = answers(() => 'ok');
  const models = [{ name: 'demo' }, { name: 'mine', model }];
  const { discord, options } = await startBot({ models, logger, budget: { userUsd: 1 } });
  expect(told).toEqual([expect.stringContaining('POCKET_DISCORD_PRICES=\'{"script"')]);
  const { message } = await createBot({ ...options, models: [{ name: 'mine', model }] })
    .start()
    .then(
      () => new Error('The bot started.'),
      (error) => error,
    );
  expect(message).toContain('its price is unknown');
  const priced = await runBot({
    ...options,
    models: [{ name: 'mine', model }],
    prices: { script: { input: 1, output: 1 } },
  });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'hello');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  await priced.close();
});
