// Running the bot: health, logs, shards, the command itself and the demo.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { jsonLogger } from '../../src/index.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { spawnProgram } from '../support/spawn-program.ts';
import { answers, botOptions, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

/** The first of a range of free ports. */
async function freePorts(count: number): Promise<number> {
  let first = 20_000 + (process.pid % 10_000);
  while (!(await areFree(first, count))) first += count;
  return first;
}

async function areFree(first: number, count: number): Promise<boolean> {
  const servers = Array.from({ length: count }, () => createServer());
  const listening = await Promise.all(
    servers.map(
      (server, index) =>
        new Promise<boolean>((resolve) =>
          server.once('error', () => resolve(false)).listen(first + index, () => resolve(true)),
        ),
    ),
  );
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return listening.every(Boolean);
}

test.each([
  { args: [], guilds: [{}], shards: 1 },
  { args: ['--shards', '2'], guilds: Array.from({ length: 6 }, (_, index) => ({ name: `G${index}` })), shards: 2 },
])(
  'with a token it logs in, serves health at the port of each shard, writes JSON logs, and ends cleanly: $args',
  async ({ args, guilds, shards }) => {
    const discord = await startDiscord({ guilds, shards });
    onTestFinished(() => discord.close());
    const database = join(await temporaryFolder(), 'bot.db');
    const port = await freePorts(shards);
    const { child, output, ended, ready } = spawnProgram(
      {
        DISCORD_TOKEN: discord.token,
        DISCORD_API_URL: discord.apiUrl,
        POCKET_DISCORD_DB: database,
        POCKET_DISCORD_HEALTH_PORT: String(port),
      },
      { args },
    );
    const lines = await ready(shards);
    const seen = lines.map((line) => line.guilds);
    // each shard has its own port and guilds
    for (const { shards: [shard = 0] = [], guilds: count } of lines) {
      const health = await fetch(`http://127.0.0.1:${port + shard}/health`);
      expect(health.status).toBe(200);
      expect(await health.json()).toMatchObject({ ready: true, guilds: count, database: true });
    }
    for (const guild of discord.guilds.slice(1)) {
      discord.user('ann').say(`${guild.name}/general`, `${discord.bot.mention} Hello there`);
      // a running question counts as open, and a user can have only three
      const answered = () =>
        JSON.stringify(discord.botMessages(`${guild.name}/general`).map(({ components }) => components)).includes(
          'Regenerate',
        );
      await discord.waitFor(answered);
      expect(discord.botMessages(`${guild.name}/general`)).toHaveLength(1);
    }
    const ann = discord.user('ann');
    ann.say(ann.dm, 'Hello there, old secret friend');
    await discord.waitForBotMessage(ann.dm, ({ content }) => content.length > 10);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(discord.gateway.sessions).toHaveLength(0);
    for (const line of output.stderr.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('message');
    expect(seen.reduce((sum, count) => sum + count, 0)).toBe(guilds.length);
    expect(output.stderr).not.toContain('secret');
    expect(output.stdout).toBe('');
  },
);

test('the health endpoint reports whether the bot works', async () => {
  const { bot, discord } = await startBot({ healthPort: 0 });
  const look = () => fetch(`http://127.0.0.1:${bot.healthPort}/health`);
  const healthy = await look();
  expect(healthy.status).toBe(200);
  expect(await healthy.json()).toMatchObject({ ready: true, guilds: 1, running: 0, database: true });
  expect((await fetch(`http://127.0.0.1:${bot.healthPort}/other`)).status).toBe(404);
  const back = Promise.withResolvers<void>();
  discord.dropGateway({ resumable: true, until: back.promise });
  const status = async () => (await look()).status;
  await expect.poll(status).toBe(503);
  back.resolve();
  await expect.poll(status).toBe(200);
  await bot.client.destroy();
  expect((await look()).status).toBe(503);
  await bot.close();
  await expect(look()).rejects.toThrow();
});

test('logs contain ids and reasons, never text of users or models', async () => {
  const lines: string[] = [];
  const model = answers(({ prompt }) =>
    prompt.at(-1)?.role === 'user'
      ? { toolCalls: [{ name: 'pull_knowledge_base', arguments: { kb_name: 'hidden thing' } }] }
      : { error: new Error('you said hidden thing') },
  );
  const { discord } = await startBot({ model, logger: jsonLogger('debug', (line) => void lines.push(line)) });
  discord.user('ann').say('general', `${discord.bot.mention} my hidden thing`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('went wrong'));
  expect(lines.map((line) => JSON.parse(line).message)).toContain('Answer failed');
  expect(lines.join('')).not.toContain('hidden thing');
});

test('an unhandled rejection in a tool ends neither the bot nor the answer', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'news'));
  const manifest =
    'tool_human_name: News\ntool_list:\n  - name: news\n    description: The news\n    capability: read\n    parameters: { type: object, properties: {} }\n';
  await writeFile(join(root, 'news', 'manifest.yaml'), manifest);
  const code = `export class Tools {
    async tool_news() {
      void Promise.reject(new RangeError('hidden thing'));
      return 'all quiet';
    }
  }`;
  await writeFile(join(root, 'news', 'tool.mjs'), code);
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  const { child, output, ended, ready } = spawnProgram({
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.apiUrl,
    POCKET_DISCORD_DB: join(root, 'bot.db'),
    POCKET_DISCORD_TOOLS: root,
    POCKET_DISCORD_MODELS: 'demo',
  });
  await ready(1);
  const ann = discord.user('ann');
  ann.say(ann.dm, 'call the tool news');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('all quiet'));
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(output.stderr).toMatch(/Unhandled promise rejection","error":"RangeError"/);
  expect(output.stderr).not.toContain('hidden thing');
});

test('the log has the type and location of a tool error, and its text only at level debug', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'look_up'));
  const manifest =
    'tool_human_name: Look up\ntool_list:\n  - name: look_up\n    description: Looks up\n    capability: read\n    parameters: { type: object, properties: { q: { type: string } } }\n';
  await writeFile(join(root, 'look_up', 'manifest.yaml'), manifest);
  const code = `export class Tools {
    async tool_look_up({ q }) {
      throw Object.assign(new RangeError('nothing for ' + q + '\\n    at hidden thing (file:///x.mjs:1:1)'), { code: 'E_NONE' });
    }
  }`;
  await writeFile(join(root, 'look_up', 'tool.mjs'), code);
  const lines = { info: [] as string[], debug: [] as string[] };
  for (const level of ['info', 'debug'] as const) {
    const model = answers(({ prompt }) =>
      prompt.at(-1)?.role === 'user' ? { toolCalls: [{ name: 'look_up', arguments: { q: 'my hidden thing' } }] } : 'ok',
    );
    const logger = jsonLogger(level, (line) => void lines[level].push(line));
    const { discord } = await startBot({ model, logger, toolDirectories: [root] });
    discord.user('ann').say('general', `${discord.bot.mention} look up my hidden thing`);
    await discord.waitForBotMessage('general', ({ content }) => content.startsWith('ok'));
  }
  expect(lines.info.join('')).not.toContain('hidden thing');
  const entries = lines.info.map((line) => JSON.parse(line));
  const failed = entries.find(({ message }) => message === 'Tool failed');
  expect(failed).toMatchObject({ level: 'warn', tool: 'look_up', error: 'RangeError', code: 'E_NONE' });
  expect(failed.at[0]).toMatch(/tool_look_up .*tool\.mjs.*:3:\d+/);
  const told = lines.debug.map((line) => JSON.parse(line)).filter((line) => JSON.stringify(line).includes('hidden'));
  expect(told).toMatchObject([{ level: 'debug', message: 'Tool error', tool: 'look_up', claim: told[0].claim }]);
});

test('the log of a failed answer says what the operator must fix', async () => {
  const lines: string[] = [];
  const refusal = Object.assign(new Error('Incorrect API key provided: sk-proj-abc0123456789xyz.'), {
    statusCode: 401,
  });
  const model = answers(() => ({ error: refusal }));
  const { discord } = await startBot({ model, logger: jsonLogger('warn', (line) => void lines.push(line)) });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  // with one model there is no other to choose
  const told = await discord.waitForBotMessage('general', ({ content }) => content.includes('went wrong'));
  expect(told.content).not.toContain('/model');
  expect(lines.map((line): unknown => JSON.parse(line))).toContainEqual(
    expect.objectContaining({
      message: 'Answer failed',
      reason: 'MODEL_FAILED',
      status: 401,
      detail: 'Incorrect API key provided: [redacted].',
    }),
  );
});

test('a failed command is logged under the id that the user sees, without user text', async () => {
  const lines: string[] = [];
  const model = answers(() => ({ error: new Error('you said hidden thing') }));
  const { discord } = await startBot({ model, logger: jsonLogger('debug', (line) => void lines.push(line)) });
  const ann = discord.user('ann');
  const said = ann.say('general', 'hidden thing');
  const { content } = await ann.messageCommand('Explain this message', said).reply();
  const [, id] = /details under (\d+)/.exec(content) ?? [];
  const entries = lines.map((line): unknown => JSON.parse(line));
  expect(entries).toContainEqual(expect.objectContaining({ message: 'Command failed', interaction: id }));
  expect(lines.join('')).not.toContain('hidden thing');
});

test('with shards in one or several processes, each guild is answered once', async () => {
  const guilds = Array.from({ length: 4 }, (_, index) => ({ name: `G${index}`, channels: ['general'] }));
  const discord = await startDiscord({ rateLimits: 'none', guilds, shards: 2 });
  onTestFinished(() => discord.close());
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers(() => 'ok');
  const shard = async (shards: number[]) =>
    runBot(await botOptions(discord, { model, database, client: { shards, shardCount: 2 } }));
  const bots = [await shard([0]), await shard([1])];
  const sizes = bots.map(({ client }) => client.guilds.cache.size);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(4);
  const ann = discord.user('ann');
  const ask = async (count: number) => {
    for (const { name } of guilds) ann.say(`${name}/general`, `${discord.bot.mention} hello`);
    ann.say(ann.dm, 'hello');
    const places = [...guilds.map(({ name }) => `${name}/general`), ann.dm];
    await discord.waitFor(() => places.every((place) => discord.botMessages(place).length === count));
  };
  await ask(1);
  for (const bot of bots) await bot.close();
  await shard([0, 1]);
  await ask(2);
  expect(model.calls).toHaveLength(10);
});

function spawnDemo(...options: string[]) {
  const demo = fileURLToPath(new URL('../../demo/main.ts', import.meta.url));
  const args = ['-C', 'pocket-agent/source', demo, ...options];
  const child = spawn(process.execPath, args, { stdio: 'pipe' });
  onTestFinished(() => void child.kill('SIGKILL'));
  const shown = { text: '', errors: '' };
  child.stdout.on('data', (text) => {
    shown.text += text;
  });
  child.stderr.on('data', (text) => {
    shown.errors += text;
  });
  return { child, shown, ended: once(child, 'close').then(([code]: (number | null)[]) => code) };
}

test('the demo shows a conversation and ends', async () => {
  const { shown, ended } = spawnDemo('--fast');
  expect(await ended).toBe(0);
  expect(shown.text).toContain('In Tokyo it is');
  expect(shown.text).toContain('ann: /agent name:Disabled');
  expect(shown.text).toContain('Tea at five!');
  expect(shown.text).toContain('End of the demo.');
});

test('the demo lets you talk to the bot with your own tools', async () => {
  const root = await temporaryFolder();
  await mkdir(join(root, 'dice'));
  const manifest =
    'tool_human_name: Dice\ntool_list:\n  - { name: roll_dice, description: Rolls dice, capability: write }\n';
  await writeFile(join(root, 'dice', 'manifest.yaml'), manifest);
  const code = "export class Tools { async tool_roll_dice() { return 'a four'; } }\n";
  await writeFile(join(root, 'dice', 'tool.mjs'), code);
  const { child, shown, ended } = spawnDemo('--tools', root);
  child.stdin.end('please roll dice\nAllow\n');
  expect(await ended).toBe(0);
  expect(shown.text).toContain('may I use **roll_dice**');
  expect(shown.text).toContain('a four');
});

test('the demo names the option when a tool directory is missing', async () => {
  const { shown, ended } = spawnDemo('--tools', 'nope');
  expect(await ended).toBe(2);
  expect(shown.errors).toBe('--tools: there is no directory nope. Create it, or name another.\n');
});
