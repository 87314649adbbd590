// A studio that is attached to the bot: it sees the answers, and may approve calls in place of the user.
import { openStudioAddress } from '@pocket-agent/studio';
import { expect, onTestFinished, test } from 'vitest';
import { type Client, isEvent, isQuestion, makeShop, startStudio } from '../../../studio/test/world.ts';
import { calls, startBot } from '../support/start-bot.ts';

async function attachedBot() {
  const address = await openStudioAddress({ address: '0', token: 'secret' });
  onTestFinished(() => address.close());
  const model = calls({ name: 'send_user_dm_message', arguments: { message: 'psst' } });
  const { discord } = await startBot({ model, watch: address.watch });
  const url = new URL(address.url).origin;
  const studio = await startStudio({ shop: makeShop([]).agent }, { attached: [{ url, token: 'secret' }] });
  const ann = discord.user('ann');
  ann.say('general', `${discord.bot.mention} write to me`);
  const asked = await discord.waitForBotMessage('general', ({ content }) => content.includes('may I use'));
  return { discord, studio, ann, asked };
}

async function question(studio: Client) {
  const line = (await studio.lines(isQuestion)).findLast(isQuestion);
  if (line?.type !== 'question' || line.question.kind !== 'approval') throw new Error('There is no question.');
  return line.question;
}

test('a call is approved in the studio, and the buttons go', async () => {
  const { discord, studio, ann, asked } = await attachedBot();
  const { id, tool, arguments: args } = await question(studio);
  expect([tool, args]).toEqual(['send_user_dm_message', { message: 'psst' }]);
  await studio.post(`/api/questions/${id}`, { allow: true });
  await discord.waitForBotMessage(ann.dm, ({ content }) => content === 'psst');
  await discord.waitFor(() => asked.content.includes('Answered in the studio.') && asked.components.length === 0);
  const lines = await studio.lines(isEvent('run_finished'));
  expect(lines.some(isEvent('tool_result'))).toBe(true);
  expect(await studio.promptIn(lines)).toContain('write to me');
});

test('a call that its user denies is withdrawn from the studio', async () => {
  const { discord, studio, ann, asked } = await attachedBot();
  const { id } = await question(studio);
  ann.click(asked, 'Deny');
  await studio.lines((line) => line.type === 'question_closed' && line.questionId === id);
  await discord.waitFor(() => asked.content.includes('Denied.'));
  await expect(studio.post(`/api/questions/${id}`, { allow: true })).rejects.toThrow('409');
  expect(discord.botMessages(ann.dm)).toHaveLength(0);
});
