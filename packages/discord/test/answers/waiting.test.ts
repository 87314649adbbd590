// Questions that wait for another answer: their notice, and how to cancel them.
import { expect, test } from 'vitest';
import type { LocalDiscord } from '../counterpart/discord.ts';
import { answers, PacedModel, quiet, type Setup, startBot } from '../support/start-bot.ts';

const isNotice = ({ content }: { content: string }) => content.includes('yours is next');

async function busyChannel(setup: Setup = {}) {
  const model = new PacedModel();
  const { discord } = await startBot({ model, ...setup });
  discord.user('ann').say('general', `${discord.bot.mention} first`);
  await model.called(1);
  const endFirst = async () => {
    model.say('one');
    model.end();
    await discord.waitForBotMessage('general', ({ content }) => content === 'one');
  };
  return { model, discord, endFirst };
}

/** Asks another question and waits for its answer: all questions before it have run. */
async function askThird(discord: LocalDiscord, model: PacedModel): Promise<void> {
  discord.user('ann').say('general', `${discord.bot.mention} third`);
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('third');
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('second');
  model.say('three', 1);
  model.end(1);
  await discord.waitForBotMessage('general', ({ content }) => content === 'three');
}

test('the notice is deleted together with its question', async () => {
  const { model, discord, endFirst } = await busyChannel();
  const bob = discord.user('bob');
  const second = bob.say('general', `${discord.bot.mention} second`);
  const notice = await discord.waitForBotMessage('general', isNotice);
  bob.delete(second);
  await endFirst();
  await discord.waitFor(() => notice.deletedAt !== undefined);
  await askThird(discord, model);
  expect(discord.botMessages('general').map(({ content }) => content)).toEqual(['one', 'three']);
});

test('a notice that cannot be deleted is logged, and the answer still arrives', async () => {
  const warned: unknown[] = [];
  const logger = { ...quiet, warn: (...line: unknown[]) => void warned.push(line) };
  const { model, discord, endFirst } = await busyChannel({ logger, client: { rest: { retries: 0 } } });
  const second = discord.user('bob').say('general', `${discord.bot.mention} second`);
  const notice = await discord.waitForBotMessage('general', isNotice);
  discord.failNext({ request: new RegExp(`DELETE .*messages/${notice.id}`), status: 403 });
  await endFirst();
  await model.called(2);
  model.say('two', 1);
  model.end(1);
  await discord.waitForBotMessage('general', ({ content }) => content === 'two');
  const reason = expect.stringContaining('403');
  expect(warned).toEqual([['Removing a notice failed', { claim: second.id, reason }]]);
  expect(notice.deletedAt).toBeUndefined();
});

test('a notice is not sent twice when the response of Discord is lost', async () => {
  const { model, discord, endFirst } = await busyChannel({ client: { rest: { timeout: 2_000 } } });
  discord.failNext({ request: /POST .*messages$/, status: 'lost' });
  discord.user('bob').say('general', `${discord.bot.mention} second`);
  await discord.waitFor(() => discord.requests.filter(({ body }) => body.includes('yours is next')).length === 2);
  await endFirst();
  await model.called(2);
  model.say('two', 1);
  model.end(1);
  await discord.waitForBotMessage('general', ({ content }) => content === 'two');
  expect(discord.botMessages('general').map(({ content }) => content)).toEqual(['one', 'two']);
});

test('the author can cancel a waiting question, which then never runs', async () => {
  const { model, discord, endFirst } = await busyChannel();
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  bob.say('general', `${discord.bot.mention} second`);
  const notice = await discord.waitForBotMessage('general', isNotice);
  expect((await ann.click(notice, 'Stop').reply()).content).toBe(`Only ${bob.mention} can stop this.`);
  expect(notice.content).toContain('yours is next');
  bob.click(notice, 'Stop');
  await discord.waitFor(() => notice.content === '-# Stopped.' && notice.components.length === 0);
  await endFirst();
  await askThird(discord, model);
});

test('/ask shows that it waits, can be cancelled, and is answered in the same message', async () => {
  const { model, discord, endFirst } = await busyChannel();
  const [bob, admin] = [discord.user('bob'), discord.user('admin')];
  const ask = (who: typeof bob, question: string) =>
    who.command('ask', { channel: 'general', options: { question } }).reply();
  const [second, other] = [await ask(bob, 'second'), await ask(admin, 'another')];
  for (const message of [second, other]) expect(message.content).toContain('yours is next');
  bob.click(second, 'Stop');
  await discord.waitFor(() => second.content === '> second\n-# Stopped.');
  await endFirst();
  await model.called(2);
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('another');
  await discord.waitFor(() => !isNotice(other));
  model.say('two', 1);
  model.end(1);
  await discord.waitFor(() => other.content === '> another\ntwo');
  expect(second.content).toContain('Stopped');
});

test('a short wait sends no notice', async () => {
  const { discord } = await startBot({ reply: {} });
  for (const name of ['ann', 'bob', 'admin']) discord.user(name).say('general', `${discord.bot.mention} hello`);
  await discord.waitFor(() => discord.botMessages('general').length === 3);
  const all = discord.messages('general').filter(({ author }) => author.id === discord.bot.id);
  expect(all.map(({ content }) => content)).toEqual(['ok', 'ok', 'ok']);
});

test('refusals of one user do not silence other users', async () => {
  const limits = { perUserPerMinute: 2, perGuildPerMinute: 6 };
  const { discord } = await startBot({ model: answers(() => 'ok'), limits });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  for (let count = 0; count < 12; count++) ann.say('general', `${discord.bot.mention} spam`);
  await discord.waitFor(() => discord.botMessages('general').length === 3);
  bob.say('random', `${discord.bot.mention} my first question today`);
  await discord.waitForBotMessage('random', ({ content }) => content === 'ok');
  expect(discord.botMessages('general')).toHaveLength(3);
});
