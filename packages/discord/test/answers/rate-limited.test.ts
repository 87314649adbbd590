// Rate limits (429) during an answer: the bot waits as long as Discord says and loses nothing.
import { expect, test } from 'vitest';
import { PacedModel, startBot } from '../support/start-bot.ts';

const paragraph = `${'some words that say little '.repeat(10).trim()}.\n`;

test('an answer arrives complete and once although Discord rate-limits messages and edits', async () => {
  const model = new PacedModel();
  const { discord } = await startBot({ model });
  const ann = discord.user('ann');
  const tooMany = (request: RegExp) => discord.failNext({ request, status: 429, retryAfterMs: 80, times: 2 });
  const question = ann.say('general', `${discord.bot.mention} tell me more`);
  await model.called(1);
  tooMany(/POST .*messages$/);
  model.say('It begins. ');
  await discord.waitForBotMessage('general', ({ content }) => content.startsWith('It begins.'));
  tooMany(/PATCH .*messages\/\d+$/);
  tooMany(/POST .*messages$/);
  const rest = paragraph.repeat(20).trim();
  for (const line of rest.split(/(?<=\n)/)) model.say(line);
  await discord.waitFor(() => discord.botMessages('general').length > 1);
  tooMany(/PATCH .*messages\/\d+$/);
  tooMany(/POST .*messages$/);
  model.end();
  const shown = () => discord.botMessages('general').map(({ content }) => content);
  await discord.waitFor(() => shown().join('\n') === `It begins. ${rest}`);

  const messages = discord.botMessages('general');
  expect(messages).toHaveLength(3);
  expect(messages.map(({ replyTo }) => replyTo?.messageId)).toEqual([question.id, undefined, undefined]);
  expect(messages.map(({ components }) => components.length)).toEqual([0, 0, 1]);
  const refused = discord.requests.filter(({ status }) => status === 429);
  expect(refused.map(({ method }) => method).sort()).toEqual([
    ...new Array(4).fill('PATCH'),
    ...new Array(6).fill('POST'),
  ]);
  // each request is repeated only after its retry time
  for (const { at, method, path } of refused) {
    const next = discord.requests.find((other) => other.at > at && other.method === method && other.path === path);
    expect((next?.at ?? 0) - at).toBeGreaterThanOrEqual(80);
  }
});
