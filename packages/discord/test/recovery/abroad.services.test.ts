// A process is killed while it answers where the bot is not a member: the next one completes the answer to the command.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startDiscord } from '../counterpart/discord.ts';
import { killed, spawnBot } from '../support/spawn-bot.ts';
import { temporaryFolder } from '../support/start-bot.ts';

test('the answer to the command is completed once', async () => {
  const discord = await startDiscord({ guilds: [{ channels: ['plaza'], bot: 'absent' }], rateLimits: 'none' });
  onTestFinished(() => discord.close());
  const place = {
    apiUrl: discord.apiUrl,
    token: discord.token,
    database: { file: join(await temporaryFolder(), 'bot.db') },
  };
  const first = await spawnBot(place);
  const ann = discord.user('ann');
  discord.stage.install(ann);
  const message = await ann
    .command('ask', { channel: 'plaza', options: { question: 'ann asks slowly for news' } })
    .reply();
  await discord.waitFor(() => message.components.length > 0, { what: 'the answer to begin' });
  await killed(first);
  await spawnBot(place);
  await discord.waitFor(
    () => message.content.endsWith('answer to asks slowly for news') && message.components.length === 0,
  );
  expect(discord.botMessages('plaza')).toHaveLength(1);
});
