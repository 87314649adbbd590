// Closing a bot: running answers get a grace period, interrupted ones say so, and listeners are removed.
import { join } from 'node:path';
import { Events } from 'discord.js';
import type { LanguageModel } from 'pocket-agent';
import { expect, onTestFinished, test } from 'vitest';
import { openBotStore } from '../../src/store/schema.ts';
import { answers, PacedModel, runBot, startBot, temporaryFolder } from '../support/start-bot.ts';

test('closing waits for answers, and long ones continue after the next start', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = new PacedModel();
  const { discord, bot, options } = await startBot({ model, database, closeGraceMs: 50 });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} hello`);
  await model.called(1);
  model.say('half an answer');
  const message = await discord.waitForBotMessage('general', ({ content }) => content.startsWith('half'));
  await bot.close();
  expect(message.content).toContain('I am restarting');
  expect(discord.gateway.sessions).toHaveLength(0);
  const other = answers(() => 'a whole answer');
  await runBot({ ...options, systemPrompt: 'You are new.', models: [{ name: 'test', model: other }] });
  await discord.waitFor(() => message.content === 'a whole answer');
  expect(JSON.stringify(other.calls[0]?.prompt[0])).toContain('You are new.');
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('closing ends /summarize with a message and counts its cost', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const done = Promise.withResolvers<void>();
  const slow = Promise.withResolvers<never>();
  const asked = { calls: 0, aborted: 0 };
  const scripted = answers(() => ({ text: 'a summary', usage: { input: 1_000_000, output: 0 } }));
  const model: LanguageModel = {
    ...{ specificationVersion: 'v4' as const, provider: 'test', modelId: 'script', supportedUrls: {} },
    doStream: (options) => scripted.doStream(options),
    doGenerate: async (options) => {
      options.abortSignal?.addEventListener('abort', () => asked.aborted++);
      await (++asked.calls === 1 ? done.promise : slow.promise);
      return scripted.doGenerate(options);
    },
  };
  const { discord, bot } = await startBot({ model, database, closeGraceMs: 2_000 });
  const [ann, bob] = [discord.user('ann'), discord.user('bob')];
  ann.say('random', 'hello there');
  const [first, second] = [ann, bob].map((who) => who.command('summarize', { channel: 'random' }));
  await expect.poll(() => asked.calls).toBe(2);
  const closed = bot.close();
  done.resolve();
  await closed;
  expect((await first?.reply())?.content).toBe('a summary');
  expect((await second?.reply())?.content).toContain('I am restarting');
  expect(asked.aborted).toBe(1);
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const spent = await db.selectFrom('discord_spending').select('tokens').where('who', '=', `user:${ann.id}`).execute();
  expect(spent).toEqual([{ tokens: expect.any(Number) }]);
});

test('a closed bot removes only its own listeners', async () => {
  const { bot } = await startBot();
  const heard = () => {};
  bot.client.on(Events.MessageCreate, heard);
  await bot.close();
  expect(bot.client.listeners(Events.MessageCreate)).toEqual([heard]);
  expect(bot.client.listenerCount(Events.InteractionCreate)).toBe(0);
});
