// Crowds, crashes and lost connections: nothing is lost, nothing is said twice.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from './counterpart/discord.ts';
import { askAll, crowd, echo, expectAllAnswered } from './crowd.ts';
import { answers, PacedModel, runBot, startBot, temporaryFolder } from './start-bot.ts';

const program = fileURLToPath(new URL('fixture-bot.ts', import.meta.url));

function spawnBot(given: object): ChildProcess {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify(given)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'inherit', 'inherit'] });
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await once(child, 'exit');
    }
  });
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGKILL');
  await ended;
}

test('200 conversations at once: each in order, none lost, none answered twice', { timeout: 60_000 }, async () => {
  const { discord } = await startBot({ model: echo(), world: { users: crowd(200), guilds: [] } });
  askAll(discord, 200, 2);
  await expectAllAnswered(discord, 200, 2);
  expect(discord.unknownRequests).toEqual([]);
});

test('two processes on one database do not answer twice', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const { discord, options } = await startBot({ model: echo(), database, world: { users: crowd(20), guilds: [] } });
  await runBot(options);
  askAll(discord, 20, 3);
  await expectAllAnswered(discord, 20, 3);
  const person = discord.user('person0');
  expect((await person.command('model', { channel: person.dm }).reply()).content).toContain('uses `test`');
});

test('with two processes, only the one that runs answers a button', async () => {
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

test('kill -9 in the middle and a restart: nothing is lost, nothing is doubled, what was cut off is said so', {
  timeout: 60_000,
}, async () => {
  const discord = await startDiscord({ rateLimits: 'none', users: [...crowd(12), { name: 'ann' }], guilds: [] });
  onTestFinished(() => discord.close());
  const { apiUrl, token } = discord;
  const folder = await temporaryFolder();
  const marks = join(folder, 'marks');
  const given = { apiUrl, token, marks, database: { file: join(folder, 'bot.db') } };
  const first = spawnBot(given);
  await discord.waitFor(() => discord.commands().length > 0, { timeoutMs: 25_000, what: 'the first process' });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'asks for a mark');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.startsWith('I begin.'), { timeoutMs: 10_000 });
  await expect.poll(() => existsSync(marks), { timeout: 10_000 }).toBe(true);
  const people = crowd(12).map(({ name }) => discord.user(name));
  for (const question of ['asks one', 'asks two', 'asks three'])
    for (const person of people) person.say(person.dm, question);
  const shown = () => people.flatMap(({ dm }) => discord.botMessages(dm));
  const answered = () => shown().filter(({ content }) => content.startsWith('answer'));
  await discord.waitFor(() => answered().length >= 8, { timeoutMs: 10_000, what: 'some answers' });
  await killed(first);
  expect(answered().length).toBeLessThan(36);
  for (const person of people.slice(0, 4)) person.say(person.dm, 'asks four');

  spawnBot(given);
  const isWhole = () => answered().length === 40 && shown().length === 40;
  await discord.waitFor(isWhole, { timeoutMs: 25_000, what: 'all answers' });
  for (const [index, { dm }] of people.entries()) {
    const wanted = ['asks one', 'asks two', 'asks three', ...(index < 4 ? ['asks four'] : [])];
    const questions = discord.messages(dm).filter(({ author }) => !author.bot);
    const replies = discord.botMessages(dm);
    expect(replies.map(({ replyTo }) => replyTo?.messageId)).toEqual(questions.map(({ id }) => id));
    expect(replies.map(({ content }) => content)).toEqual(wanted.map((question) => `answer to ${question}`));
  }

  // a run that had used a tool is not run again
  const cutOff = await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('I was restarted'));
  expect(cutOff.content).toContain('I begin.');
  ann.say(ann.dm, 'asks more');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'answer to asks more');
  expect(readFileSync(marks, 'utf8')).toBe('mark\n');
  expect(discord.botMessages(ann.dm)).toHaveLength(2);
});

test('closing waits for answers, and what takes too long is taken up after the next start', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = new PacedModel();
  const { discord, bot, options } = await startBot({ model, database, closeGraceMs: 50 });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('half'));
  await bot.close();
  expect(message.content).toContain('I am being restarted');
  expect(discord.gateway.sessions).toHaveLength(0);
  const other = answers(() => 'a whole answer');
  await runBot({ ...options, systemPrompt: 'You are new.', models: [{ name: 'test', model: other }] });
  await discord.waitFor(() => message.content === 'a whole answer');
  expect(JSON.stringify(other.calls[0]?.prompt[0])).toContain('You are new.');
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('after the gateway dropped the bot goes on; what was said meanwhile is answered once', async () => {
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  let count = 0;
  const ask = async () => {
    ann.say('general', `${discord.bot.mention} hello`);
    await discord.waitFor(() => discord.botMessages('general').length === count + 1, { timeoutMs: 8_000 });
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

test('a question that Discord will never give back holds up nobody behind it', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const paced = new PacedModel();
  const { discord, bot, options } = await startBot({ model: paced, database, closeGraceMs: 0 });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'lost');
  await paced.called(1);
  ann.say(ann.dm, 'found');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.includes('this is next'));
  await bot.close();
  discord.failNext({ request: /GET .*messages\/\d+$/, status: 403, times: 1 });
  const model = answers(() => 'ok');
  await runBot({ ...options, models: [{ name: 'test', model }] });
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'ok');
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('found');
  expect(model.calls).toHaveLength(1);
});
