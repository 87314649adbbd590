// The bot ends on signals whatever Discord does; shards that cannot start report a reason.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer as createHttpServer, type ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { DefaultRestOptions } from 'discord.js';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createBot } from '../../src/index.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { spawnProgram } from '../support/spawn-program.ts';
import { botOptions, PacedModel, quiet, startBot, temporaryFolder } from '../support/start-bot.ts';

const nowhere = 'http://127.0.0.1:1/api';

test('shards that cannot start print the reason once and end with its exit code', async () => {
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  const shards = (env: Record<string, string>) =>
    spawnProgram({ DISCORD_TOKEN: discord.token, POCKET_DISCORD_DB: ':memory:', ...env }, { args: ['--shards', '2'] });
  const unreached = shards({ DISCORD_API_URL: nowhere });
  const keyless = shards({ DISCORD_API_URL: discord.apiUrl, POCKET_DISCORD_MODELS: 'anthropic/claude-x' });
  const stranger = shards({ DISCORD_API_URL: discord.apiUrl, DISCORD_TOKEN: 'wrong' });
  expect(await unreached.ended).toBe(1);
  expect(unreached.output.stderr).toBe(
    `Discord could not be reached at ${nowhere} (ECONNREFUSED). The address comes from DISCORD_API_URL.\n`,
  );
  expect(await keyless.ended).toBe(2);
  expect(keyless.output.stderr).toMatch(/^The model "anthropic\/claude-x" cannot be used: .*ANTHROPIC_API_KEY.*\n$/);
  expect(await stranger.ended).toBe(1);
  expect(stranger.output.stderr).toContain('the token is wrong');
});

test('a crashed shard is restarted, and SIGTERM ends all shards even without Discord', async () => {
  const discord = await startDiscord();
  const database = join(await temporaryFolder(), 'bot.db');
  const where = { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, POCKET_DISCORD_DB: database };
  const { child, output, ended, ready } = spawnProgram(where, { args: ['--shards', '1'] });
  const [first] = await ready(1);
  process.kill(first?.pid ?? 0, 'SIGKILL');
  await ready(2);
  expect(output.stderr).toContain('"message":"A shard ended; restarting it","shard":0');
  await discord.close();
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('SIGTERM to the parent npm process ends the bot', async () => {
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  const where = { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, POCKET_DISCORD_DB: ':memory:' };
  // like npm: a shell that waits for the program and dies from the signal
  const { child, ended, ready } = spawnProgram({ ...where, npm_lifecycle_event: 'discord' }, { shell: true });
  const [bot] = await ready(1);
  expect(bot?.pid).not.toBe(child.pid);
  child.kill('SIGTERM');
  await ended; // ends only after all holders of its output have closed it
  expect(discord.gateway.sessions).toEqual([]);
});

test('a closed stderr neither ends nor blocks the bot', async () => {
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  const where = { DISCORD_TOKEN: discord.token, DISCORD_API_URL: discord.apiUrl, POCKET_DISCORD_DB: ':memory:' };
  const { child, ended, ready } = spawnProgram(where);
  await ready(1);
  child.stdout.destroy();
  child.stderr.destroy();
  discord.dropGateway(); // which is logged
  await discord.waitFor(() => discord.gateway.sessions.length === 1);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
});

test('a second signal forces the exit', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  onTestFinished(() => void silent.close());
  const address = silent.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const { child, ended } = spawnProgram({ DISCORD_TOKEN: 'x', DATABASE_URL: `postgres://me@127.0.0.1:${port}/bot` });
  await once(silent, 'connection');
  child.kill('SIGTERM');
  await sleep(400); // two signals at the same time count as one, because npm repeats them
  child.kill('SIGTERM');
  expect(await ended).toBe(130);
});

test('a bot whose Discord is gone leaves nothing that keeps the process alive', async () => {
  const discord = await startDiscord();
  const given = { apiUrl: discord.apiUrl, token: discord.token, database: { file: ':memory:' } };
  const program = fileURLToPath(new URL('../support/fixture-bot.ts', import.meta.url));
  const child = spawn(process.execPath, ['-C', 'pocket-agent/source', program, JSON.stringify(given)], {
    stdio: ['ignore', 'inherit', 'pipe'],
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  await discord.waitFor(() => discord.commands().length > 0);
  await discord.close();
  await once(child.stderr, 'data'); // it has logged the loss
  child.kill('SIGTERM');
  expect((await ended)[0]).toBe(0);
});

test('SIGTERM during an answer ends the bot within ten seconds and is logged', async () => {
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  const server = createHttpServer(() => {}).listen(0, '127.0.0.1'); // a model that never answers
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const address = server.address();
  const { child, output, ended, ready } = spawnProgram({
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.apiUrl,
    POCKET_DISCORD_DB: ':memory:',
    POCKET_DISCORD_MODELS: 'ollama/slow',
    OLLAMA_BASE_URL: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/v1`,
  });
  await ready(1);
  const asked = once(server, 'request');
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await asked;
  const started = Date.now();
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  expect(Date.now() - started).toBeLessThan(9_500);
  expect(output.stderr).toContain('"message":"Stopping","running":1');
  const [answer] = discord.botMessages('general');
  expect(answer?.content).toContain('I am restarting');
});

test('a bot that is still connecting can be closed', async () => {
  const discord = await startDiscord();
  onTestFinished(() => discord.close());
  discord.gateway.url = 'ws://127.0.0.1:1';
  const bot = createBot(await botOptions(discord, {}));
  const starting = expect(bot.start()).rejects.toMatchObject({ code: 'GONE' });
  await discord.waitFor(() => discord.requests.length > 0);
  await bot.close();
  await starting;
  await expect(bot.start()).rejects.toMatchObject({ code: 'GONE' });
});

test('a start that waits for Discord logs the reason', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const waiting: ServerResponse[] = [];
  const busy = createHttpServer((_request, response) => void waiting.push(response)).listen(0, '127.0.0.1');
  await once(busy, 'listening');
  onTestFinished(() => {
    busy.closeAllConnections();
    busy.close();
  });
  const address = busy.address();
  const apiUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/api`;
  const told: unknown[] = [];
  const logger = { ...quiet, warn: (...line: unknown[]) => void told.push(line) };
  const bot = createBot(await botOptions({ apiUrl, token: 'x' }, { logger }));
  const starting = expect(bot.start()).rejects.toMatchObject({ code: 'GONE' });
  await expect.poll(() => waiting.length).toBe(1);
  vi.advanceTimersByTime(4_000);
  expect(told).toEqual([]);
  vi.advanceTimersByTime(10_000);
  expect(told).toEqual([['Waiting for Discord', { reason: 'no answer' }]]);
  waiting[0]?.writeHead(429, { 'retry-after': '30', 'content-type': 'application/json' }).end('{}');
  await expect
    .poll(() => {
      vi.advanceTimersByTime(5_000);
      return told.length;
    })
    .toBe(2);
  expect(told[1]).toEqual(['Waiting for Discord', { reason: expect.stringMatching(/429.* after 30 s/) }]);
  await bot.close();
  await starting;
});

test('closing does not wait for a Discord that stopped answering', async () => {
  const model = new PacedModel();
  let isSilent = false;
  const makeRequest: typeof DefaultRestOptions.makeRequest = (url, init) => {
    if (!isSilent) return DefaultRestOptions.makeRequest(url, init);
    return new Promise((_, reject) => {
      const giveUp = () => reject(new DOMException('given up', 'AbortError'));
      if (init.signal?.aborted) giveUp();
      init.signal?.addEventListener('abort', giveUp);
    });
  };
  const { discord, bot } = await startBot({ model, closeGraceMs: 50, client: { rest: { makeRequest } } });
  discord.user('ann').say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  isSilent = true;
  const started = Date.now();
  await bot.close();
  expect(Date.now() - started).toBeLessThan(9_500);
});
