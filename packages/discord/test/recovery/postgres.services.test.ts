// Several processes on one PostgreSQL.
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { SettingsStore } from '../../src/store/guild-settings.ts';
import { openBotStore } from '../../src/store/schema.ts';
import { askAll, crowd, echo, expectAllAnswered } from '../support/crowd.ts';
import { answers, quiet, runBot, startBot } from '../support/start-bot.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

afterAll(async () => {
  await postgres.stop();
});

test('three processes on one PostgreSQL answer each question once and in order', async () => {
  const database = { url: await postgres.createDatabase() };
  const { discord, options } = await startBot({ model: echo(), database, world: { users: crowd(40), guilds: [] } });
  await Promise.all([runBot(options), runBot(options)]);
  askAll(discord, 40, 3);
  await expectAllAnswered(discord, 40, 3);
});

test('settings, budgets, commands and sweeping work on PostgreSQL, and a stopped process is replaced', async () => {
  const database = { url: await postgres.createDatabase() };
  const model = answers(() => ({ text: 'ok', usage: { input: 1_000_000, output: 0 } }));
  const { discord, bot, options } = await startBot({ model, database, prices: { script: { input: 1, output: 1 } } });
  await runBot(options);
  const [admin, ann] = [discord.user('admin'), discord.user('ann')];
  await admin.command('setup budget', { channel: 'general', options: { person: 2 } }).reply();
  ann.say('general', `${discord.bot.mention} hello`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
  expect((await ann.command('cost', { channel: 'general' }).reply()).content).toContain('$1.0000 of $2.00');
  await bot.close();
  ann.say('general', `${discord.bot.mention} again`);
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  await admin.click(await admin.command('sweep', { channel: 'general' }).reply(), 'Delete').answered();
  ann.say('general', `${discord.bot.mention} more`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('budget is used up'));
  expect(model.calls).toHaveLength(2);
});

test('the bot continues after the database was unavailable', async () => {
  const database = { url: await postgres.createDatabase() };
  const { discord } = await startBot({ model: answers(() => 'ok'), database });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'hello');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 1);
  await postgres.restart();
  ann.say(ann.dm, 'still there?');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 2, { timeoutMs: 60_000 });
});

/** A proxy to the database that can refuse connections. */
async function withDoor(address: string) {
  const url = new URL(address);
  const target = Number(url.port);
  const sockets = new Set<Socket>();
  let isShut = false;
  const server = createServer((socket) => {
    if (isShut) {
      socket.destroy();
      return;
    }
    const onward = connect(target, '127.0.0.1');
    for (const end of [socket, onward]) {
      sockets.add(end);
      end.on('error', () => {}).on('close', () => sockets.delete(end));
    }
    socket.pipe(onward).pipe(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const own = server.address();
  url.port = String(typeof own === 'object' && own?.port);
  const open = () => {
    isShut = false;
  };
  const shut = () => {
    isShut = true;
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    shut();
    server.close();
  });
  return { url: url.href, shut, open };
}

function waitingLog() {
  const warnings: string[] = [];
  const logger = { ...quiet, warn: (text: string) => void warnings.push(text) };
  /** Resolves when this many messages could not be saved. */
  const waiting = (count: number) =>
    expect.poll(() => warnings.filter((text) => text.includes('a message'))).toHaveLength(count);
  return { logger, waiting };
}

test('questions during a database outage are answered afterwards, once and in order', async () => {
  const door = await withDoor(await postgres.createDatabase());
  const { logger, waiting } = waitingLog();
  const { discord, bot, options } = await startBot({ model: echo(), database: { url: door.url }, logger });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say(ann.dm, 'before');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 1);
  door.shut();
  const asked = [ann.say(ann.dm, 'during one'), ann.say(ann.dm, 'during two')];
  // the first message there, unknown to the database
  const first = bob.say('general', `${discord.bot.mention} during`);
  await waiting(2);
  door.open();
  asked.push(ann.say(ann.dm, 'after'));
  // notices do not count as answers
  const areAnswers = (channel: Parameters<typeof discord.botMessages>[0], count: number) => () => {
    const messages = discord.botMessages(channel);
    return messages.length === count && messages.every(({ content }) => !content.startsWith('-#'));
  };
  await discord.waitFor(areAnswers(ann.dm, 4), { timeoutMs: 60_000 });
  await discord.waitFor(areAnswers('general', 1), { timeoutMs: 60_000 });
  expect(discord.botMessages('general')[0]?.replyTo?.messageId).toBe(first.id);
  await bot.close();
  await runBot(options);
  const replies = discord.botMessages(ann.dm).slice(1);
  expect(replies.map(({ replyTo }) => replyTo?.messageId)).toEqual(asked.map(({ id }) => id));
});

test('users get a notice if their question cannot be saved because the database stays unavailable or the bot closes', async () => {
  const door = await withDoor(await postgres.createDatabase());
  const { logger, waiting } = waitingLog();
  const { discord, bot } = await startBot({ database: { url: door.url }, catchUpMs: 1_000, logger });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  door.shut();
  const early = ann.say('general', `${discord.bot.mention} hello`);
  ann.say('general', 'nothing for the bot');
  await discord.waitFor(() => discord.botMessages('general').length === 1);
  const used = ann.command('ask', { channel: ann.dm, options: { question: 'anybody?' } });
  expect((await used.reply()).content).toContain('Something went wrong');
  const late = bob.say('general', `${discord.bot.mention} hello`);
  await waiting(2);
  await bot.close();
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  for (const [index, { id }] of [early, late].entries()) {
    expect(discord.botMessages('general')[index]?.content).toContain('Ask again in a few minutes');
    expect(discord.botMessages('general')[index]?.replyTo?.messageId).toBe(id);
  }
});

test('concurrent changes of settings by several processes are all kept', async () => {
  const database = { url: await postgres.createDatabase() };
  const stores = await Promise.all([openBotStore(database), openBotStore(database)]);
  const all = stores.map(({ db }) => new SettingsStore(db));
  const names = Array.from({ length: 20 }, (_, index) => `channel ${index}`);
  const changes = names.map((name, index) =>
    all[index % 2]?.change('guild', ({ channels }) => {
      channels.push(name);
    }),
  );
  await Promise.all(changes);
  expect((await all[0]?.get('guild'))?.channels.sort()).toEqual(names.sort());
  await Promise.all(stores.map((store) => store.close()));
});
