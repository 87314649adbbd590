// Many users, crashes and lost connections: every question is answered once.
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openBotStore } from '../../src/store/schema.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { askAll, crowd, echo, expectAllAnswered } from '../support/crowd.ts';
import { killed, spawnBot } from '../support/spawn-bot.ts';
import { answers, PacedModel, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';
import { storedMessages } from '../support/stored-conversations.ts';

test('200 concurrent conversations are each answered in order, once and completely', async () => {
  const { discord } = await startBot({ model: echo(), world: { users: crowd(200), guilds: [] } });
  askAll(discord, 200, 2);
  await expectAllAnswered(discord, 200, 2);
  expect(discord.unknownRequests).toEqual([]);
});

test('two processes on one database answer once', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord, options } = await startBot({ model: echo(), database, world: { users: crowd(20), guilds: [] } });
  await runBot(options);
  askAll(discord, 20, 3);
  await expectAllAnswered(discord, 20, 3);
  const person = discord.user('person0');
  expect((await person.command('model', { channel: person.dm }).reply()).content).toContain('uses `test`');
});

test('with two processes, only the one that runs the answer handles its buttons', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers(({ prompt }) =>
    prompt.at(-1)?.role === 'tool'
      ? 'You have mail.'
      : { toolCalls: [{ name: 'send_user_dm_message', arguments: { message: 'psst' } }] },
  );
  const { discord, options } = await startBot({ model, database });
  await runBot(options);
  const ann = discord.user('ann');
  for (let count = 1; count <= 5; count++) {
    ann.say('general', `${discord.bot.mention} write to me`);
    const isOpen = (content: string) => content.includes('may I use') && !content.includes('Allowed');
    const question = await discord.waitForBotMessage('general', ({ content }) => isOpen(content));
    ann.click(question, 'Allow');
    await discord.waitFor(() => discord.botMessages(ann.dm).length === count);
    await discord.waitFor(() => question.content.includes('Allowed.'));
  }
  expect(ann.ephemeral()).toEqual([]);
});

test('after kill -9 and a restart nothing is lost or doubled, and interrupted answers say so', async () => {
  const discord = await startDiscord({ rateLimits: 'none', users: [...crowd(12), { name: 'ann' }], guilds: [] });
  onTestFinished(() => discord.close());
  const { apiUrl, token } = discord;
  const folder = await temporaryFolder();
  const marks = join(folder, 'marks');
  const given = { apiUrl, token, marks, database: { file: join(folder, 'bot.db') } };
  const first = await spawnBot(given);
  const ann = discord.user('ann');
  ann.say(ann.dm, 'asks for a mark');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.startsWith('I begin.'));
  await expect.poll(() => existsSync(marks)).toBe(true);
  ann.say(ann.dm, 'asks next');
  const people = crowd(12).map(({ name }) => discord.user(name));
  for (const question of ['asks one', 'asks two', 'asks three'])
    for (const person of people) person.say(person.dm, question);
  const shown = () => people.flatMap(({ dm }) => discord.botMessages(dm));
  const answered = () => shown().filter(({ content }) => content.startsWith('answer'));
  await discord.waitFor(() => answered().length >= 8, { what: 'some answers', timeoutMs: 60_000 });
  await killed(first);
  expect(answered().length).toBeLessThan(36);
  for (const person of people.slice(0, 4)) person.say(person.dm, 'asks four');

  await spawnBot(given);
  const isWhole = () => answered().length === 40 && shown().length === 40;
  await discord.waitFor(isWhole, { what: 'all answers', timeoutMs: 60_000 });
  for (const [index, { dm }] of people.entries()) {
    const wanted = ['asks one', 'asks two', 'asks three', ...(index < 4 ? ['asks four'] : [])];
    const questions = discord.messages(dm).filter(({ author }) => !author.bot);
    const replies = discord.botMessages(dm);
    expect(replies.map(({ replyTo }) => replyTo?.messageId)).toEqual(questions.map(({ id }) => id));
    expect(replies.map(({ content }) => content)).toEqual(wanted.map((question) => `answer to ${question}`));
  }

  // a run with a tool call is not repeated
  const cutOff = await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('I was restarted'));
  expect(cutOff.content).toContain('I begin.');
  expect(cutOff.content).toContain('ask again if you still need the answer');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'answer to asks next');
  ann.say(ann.dm, 'asks more');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'answer to asks more');
  expect(readFileSync(marks, 'utf8')).toBe('mark\n');
  expect(discord.botMessages(ann.dm)).toHaveLength(3);
});

const moments = [
  { when: 'before it answers Discord', dies: { diesBefore: 'asks something' } },
  { when: 'before it records its reply', dies: { diesAfter: 'asks something' } },
];

test.each(moments)('a command whose process is killed $when is answered exactly once', async ({ dies }) => {
  const discord = await startDiscord({ rateLimits: 'none' });
  onTestFinished(() => discord.close());
  const { apiUrl, token } = discord;
  const given = { apiUrl, token, leaseMs: 1_500, database: { file: join(await temporaryFolder(), 'bot.db') } };
  const first = await spawnBot({ ...given, ...dies });
  const ended = once(first, 'exit');
  discord.user('ann').command('ask', { channel: 'general', options: { question: 'asks something' } });
  await ended;
  await spawnBot(given);
  const answer = '> asks something\nanswer to asks something';
  await discord.waitForBotMessage('general', ({ content }) => content === answer, { timeoutMs: 60_000 });
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('after a lost gateway connection missed messages are answered once', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  let count = 0;
  const ask = async () => {
    ann.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(() => discord.botMessages('general').length === count + 1);
    count++;
  };
  await ask();
  discord.dropGateway({ resumable: true });
  await ask();
  const open = Promise.withResolvers<void>();
  discord.dropGateway({ resumable: false, until: open.promise });
  const asking = ask();
  open.resolve();
  await asking;
  await ask();
  expect(model.calls).toHaveLength(4);
});

test('a question that Discord no longer returns does not block later ones', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const paced = new PacedModel();
  const { discord, bot, options } = await startBot({ model: paced, database, closeGraceMs: 0 });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'lost');
  await paced.called(1);
  ann.say(ann.dm, 'found');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('yours is next'));
  await bot.close();
  discord.failNext({ request: /GET .*messages\/\d+$/, status: 403, times: 1 });
  const model = answers(() => 'ok');
  await runBot({ ...options, models: [{ name: 'test', model }] });
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('found');
  expect(model.calls).toHaveLength(1);
});

test('missed questions are answered where only some roles are allowed', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const members = { ann: ['Helpers'], bob: [], admin: ['Admins'] };
  const world = { guilds: [{ channels: ['general'], members }] };
  const { discord, bot, options } = await startBot({ database, world });
  const [ann, bob, admin] = [discord.user('ann'), discord.user('bob'), discord.user('admin')];
  await admin.command('setup role', { channel: 'general', options: { role: 'Helpers' } }).reply();
  ann.say('general', `${discord.bot.mention} one`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'ok');
  await bot.close();
  bob.say('general', `${discord.bot.mention} not for me`);
  const missed = ann.say('general', `${discord.bot.mention} while you were away`);
  await runBot(options);
  await discord.waitFor(() => discord.botMessages('general').length === 2);
  expect(discord.botMessages('general')[1]?.replyTo?.messageId).toBe(missed.id);
});

test('data of another bot in the same database is kept', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  await db.insertInto('discord_bots').values({ id: '7' }).execute();
  await db.insertInto('discord_guilds').values({ guild_id: '77', settings: '{}' }).execute();
  const { bot, options } = await startBot({ database });
  await bot.close();
  await runBot(options);
  expect(await db.selectFrom('discord_guilds').select('guild_id').execute()).toEqual([{ guild_id: '77' }]);
});

test('data of a guild that removed the bot while it was offline is deleted at the start', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const world = { guilds: [{ name: 'Old' }, { name: 'Home' }] };
  const { discord, bot, options } = await startBot({ database, world });
  const [ann, admin] = [discord.user('ann'), discord.user('admin')];
  for (const guild of ['Old', 'Home']) {
    await admin.command('setup conversations', { channel: `${guild}/general`, options: { scope: 'user' } }).reply();
    ann.say(`${guild}/general`, `${discord.bot.mention} a secret of ${guild}`);
    await discord.waitForBotMessage(`${guild}/general`, ({ content }) => content === 'ok');
  }
  await bot.close();
  discord.stage.removeGuild(discord.guild('Old'));
  await runBot(options);
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const messages = (await storedMessages(database)).map((message) => JSON.stringify(message));
  expect(messages.filter((json) => json.includes('secret'))).toEqual([expect.stringContaining('secret of Home')]);
  expect(await db.selectFrom('discord_guilds').select('guild_id').execute()).toHaveLength(1);
});
