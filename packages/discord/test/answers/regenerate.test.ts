// Regenerate: a previous answer is replaced only by a complete one.
import { join } from 'node:path';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, onTestFinished, test } from 'vitest';
import { openBotStore } from '../../src/store/schema.ts';
import type { StoredMessage } from '../counterpart/state/records.ts';
import { answers, PacedModel, startBot, temporaryFolder } from '../support/start-bot.ts';
import { storedMessages } from '../support/stored-conversations.ts';

const shows = (button: string) => (message: StoredMessage) => JSON.stringify(message.components).includes(button);
const canRepeat = shows('Regenerate');

test('Regenerate edits the same message each time', async () => {
  let count = 0;
  const { discord } = await startBot({ model: answers(() => `answer ${++count}`) });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} dice`);
  const message = await discord.waitForBotMessage('general', canRepeat);
  for (const next of ['answer 2', 'answer 3', 'answer 4']) {
    ann.click(message, 'Regenerate');
    await discord.waitFor(() => message.content === next && canRepeat(message));
  }
  expect(discord.botMessages('general')).toHaveLength(1);
});

test('a failed Regenerate keeps the previous answer and can be repeated', async () => {
  const model = new ScriptedModel(['precious', { error: new Error('down') }, '', 'better', 'next']);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'an essay, please');
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  for (const reason of ['went wrong', 'returned no text']) {
    ann.click(message, 'Regenerate');
    await discord.waitFor(() => message.content.includes(reason) && canRepeat(message));
    expect(message.content).toMatch(/^precious\n\n-# .* This is the previous answer\.$/);
  }
  ann.click(message, 'Regenerate');
  await discord.waitFor(() => message.content === 'better' && canRepeat(message));
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).not.toContain('precious');
  ann.say(ann.dm, 'and then?');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'next');
  const known = JSON.stringify(model.calls.at(-1)?.prompt);
  expect(known).toContain('better');
  expect(known).not.toContain('precious');
  expect(known.split('an essay').length - 1).toBe(1);
});

test('after a failed Regenerate the history still has the previous answer', async () => {
  const model = new ScriptedModel(['precious', { error: new Error('down') }, 'next']);
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'an essay, please');
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  ann.click(message, 'Regenerate');
  await discord.waitFor(() => message.content.includes('went wrong'));
  ann.say(ann.dm, 'and then?');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'next');
  expect(JSON.stringify(model.calls.at(-1)?.prompt)).toContain('precious');
});

test('Stop during Regenerate restores the previous answer', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  ann.say(ann.dm, 'an essay, please');
  await model.called(1);
  model.say('precious');
  model.end();
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  ann.click(message, 'Regenerate');
  await model.called(2);
  model.say('worse', 1);
  await discord.waitFor(() => message.content.startsWith('worse') && shows('Stop')(message));
  ann.click(message, 'Stop');
  await discord.waitFor(() => message.content === 'precious\n\n-# Stopped. This is the previous answer.');
  ann.say(ann.dm, 'and then?');
  await model.called(3);
  expect(JSON.stringify(model.calls[2]?.prompt)).toContain('precious');
  expect(JSON.stringify(model.calls[2]?.prompt)).not.toContain('stopped by');
  model.end(2);
});

test('Regenerate with a used-up budget leaves the answer unchanged', async () => {
  const model = answers(() => ({ text: 'precious', usage: { input: 1_000_000, output: 0 } }));
  const prices = { script: { input: 1, output: 1 } };
  const { discord } = await startBot({ model, prices, budget: { userUsd: 1 } });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} an essay, please`);
  const message = await discord.waitForBotMessage('general', canRepeat);
  const { history } = message;
  expect((await ann.click(message, 'Regenerate').reply()).content).toContain('budget is used up');
  expect(message).toMatchObject({ content: 'precious', history });
});

test('after /sweep a question of /ask is deleted and cannot be regenerated', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const model = answers(() => 'ok');
  const { discord } = await startBot({ model, database });
  const ann = discord.user('ann');
  ann.command('ask', { channel: ann.dm, options: { question: 'my secret illness' } });
  const message = await discord.waitForBotMessage(ann.dm, canRepeat);
  const sure = await ann.command('sweep', { channel: ann.dm }).reply();
  await ann.click(sure, 'Delete').answered();
  const { db, close } = await openBotStore(database);
  onTestFinished(close);
  const kept = [...(await db.selectFrom('discord_claims').selectAll().execute()), ...(await storedMessages(database))];
  expect(JSON.stringify(kept)).not.toContain('illness');
  expect((await ann.click(message, 'Regenerate').reply()).content).toBe('This button has expired.');
  expect(model.calls).toHaveLength(1);
});
