// Processes that are killed while they wait for an approval.
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../counterpart/discord.ts';
import { killed, spawnBot } from '../support/spawn-bot.ts';
import { temporaryFolder } from '../support/start-bot.ts';

test('after kill -9 the next process asks again, the old buttons allow nothing, and the call is made once', async () => {
  const discord = await startDiscord({ rateLimits: 'none' });
  onTestFinished(() => discord.close());
  const { apiUrl, token } = discord;
  const folder = await temporaryFolder();
  const marks = join(folder, 'marks');
  const given = { apiUrl, token, marks, database: { file: join(folder, 'bot.db') } };
  const ann = discord.user('ann');
  const asked = () => discord.botMessages('general').filter(({ content }) => content.includes('may I use'));
  const isOpen = (index: number) => JSON.stringify(asked()[index]?.components ?? []).includes('Allow');

  let bot = await spawnBot(given);
  ann.say('general', `${discord.bot.mention} asks to sign`);
  for (const index of [0, 1]) {
    await discord.waitFor(() => isOpen(index), { what: 'the question', timeoutMs: 60_000 });
    await killed(bot);
    bot = await spawnBot(given);
  }
  await discord.waitFor(() => isOpen(2), { what: 'the third question', timeoutMs: 60_000 });
  await discord.waitFor(() => !isOpen(0) && !isOpen(1), { what: 'old questions without buttons' });
  const [first, second, third] = asked();
  if (!first || !second || !third) throw new Error('Three questions were expected.');
  expect([first.content, second.content]).toEqual([
    expect.stringContaining('I was restarted, so I did not do it.'),
    expect.stringContaining('I was restarted, so I did not do it.'),
  ]);
  expect(existsSync(marks)).toBe(false);
  ann.click(third, 'Allow');
  await discord.waitForBotMessage('general', ({ content }) => content.includes('It is signed.'));
  expect(readFileSync(marks, 'utf8')).toBe('signed\n');
  await killed(bot);
  await spawnBot(given);
  ann.say('general', `${discord.bot.mention} asks one`);
  await discord.waitForBotMessage('general', ({ content }) => content === 'answer to asks one');
  expect(readFileSync(marks, 'utf8')).toBe('signed\n');
  expect(asked()).toHaveLength(3);
  expect(discord.unknownRequests).toEqual([]);
});
