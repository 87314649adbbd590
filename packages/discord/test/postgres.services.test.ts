// Several processes on one PostgreSQL.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../store/test/postgres.ts';
import { Settings } from '../src/settings/settings.ts';
import { openBotStore } from '../src/store/schema.ts';
import { askAll, crowd, echo, expectAllAnswered } from './crowd.ts';
import { answers, runBot, startBot } from './start-bot.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

afterAll(async () => {
  await postgres.stop();
});

test('three processes on one PostgreSQL: each question is answered once, in order', async () => {
  const database = { url: await postgres.createDatabase() };
  const { discord, options } = await startBot({ model: echo(), database, world: { users: crowd(40), guilds: [] } });
  await Promise.all([runBot(options), runBot(options)]);
  askAll(discord, 40, 3);
  await expectAllAnswered(discord, 40, 3);
});

test('settings, budgets, commands and sweeping work as on SQLite; a process that left is replaced', async () => {
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
  await admin.click(await admin.command('sweep', { channel: 'general' }).reply(), 'Forget it all').answered();
  ann.say('general', `${discord.bot.mention} more`);
  await discord.waitForBotMessage('general', ({ content }) => content.includes('budget is used up'));
  expect(model.calls).toHaveLength(2);
});

test('after the database was away the bot goes on', async () => {
  const database = { url: await postgres.createDatabase() };
  const { discord } = await startBot({ model: answers(() => 'ok'), database });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'hello');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 1);
  await postgres.restart();
  ann.say(ann.dm, 'still there?');
  await discord.waitFor(() => discord.botMessages(ann.dm).length === 2);
});

test('settings that several processes change at the same time are all kept', async () => {
  const database = { url: await postgres.createDatabase() };
  const stores = await Promise.all([openBotStore(database), openBotStore(database)]);
  const all = stores.map(({ db }) => new Settings(db));
  const names = Array.from({ length: 20 }, (_, index) => `channel ${index}`);
  const changes = names.map((name, index) =>
    all[index % 2]?.change('guild', ({ channels }) => {
      channels.push(name);
    }),
  );
  await Promise.all(changes);
  expect((await all[0]?.of('guild'))?.channels.sort()).toEqual(names.sort());
  await Promise.all(stores.map((store) => store.close()));
});
