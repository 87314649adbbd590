// Many schedules at the same time, several processes, some killed: every prompt is asked once.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startPostgres } from '../../../store/test/postgres.ts';
import { type DiscordOptions, type LocalDiscord, startDiscord } from '../counterpart/discord.ts';
import { makeDue } from '../support/due-schedules.ts';
import type { Location } from '../support/old-database.ts';
import { killed, spawnBot } from '../support/spawn-bot.ts';
import { answers, botOptions, runBot, temporaryFolder } from '../support/start-bot.ts';

const patience = Number(process.env.TEST_PATIENCE);

async function start(options: DiscordOptions): Promise<LocalDiscord> {
  const discord = await startDiscord({ rateLimits: 'none', ...options });
  onTestFinished(() => discord.close());
  return discord;
}

async function schedule(discord: LocalDiscord, { channel, prompt }: { channel: string; prompt: string }) {
  const used = discord.user('admin').command('schedule add', { channel, options: { prompt, every: 'day' } });
  expect((await used.reply()).content).toContain('Added:');
}

/** Each channel has exactly one answer, and no other message of the bot. */
async function expectOneAnswerEach(discord: LocalDiscord, channels: readonly string[]): Promise<void> {
  const answered = (channel: string) => {
    const [message, ...others] = discord.botMessages(channel);
    const isWhole =
      message?.content.endsWith('answer to asks slowly for news') &&
      JSON.stringify(message.components).includes('again:');
    return isWhole && others.length === 0;
  };
  await discord.waitFor(() => channels.every(answered), {
    timeoutMs: 60_000 * patience,
    what: 'one answer in each channel',
  });
}

test.each([
  { when: 'before the answer is sent', dies: { diesBefore: 'Scheduled by' } },
  { when: 'after Discord accepted it', dies: { diesAfter: 'Scheduled by' } },
])('a process killed $when: the next one answers, once', { timeout: 120_000 * patience }, async ({ dies }) => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const discord = await start({});
  const place = { apiUrl: discord.apiUrl, token: discord.token, database };
  const first = await spawnBot({ ...place, ...dies });
  await schedule(discord, { channel: 'general', prompt: 'ann asks slowly for news' });
  await makeDue(database);
  await expect.poll(() => first.signalCode, { timeout: 30_000 * patience }).toBe('SIGKILL');
  discord.stage.pass(600_000); // Discord has forgotten the nonce
  await spawnBot(place);
  await expectOneAnswerEach(discord, ['general']);
});

test('200 schedules at the same time, three processes on PostgreSQL, one killed: each is answered once', {
  timeout: 240_000 * patience,
}, async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const database: Location = { url: await postgres.createDatabase() };
  const channels = Array.from({ length: 200 }, (_, index) => `room${index}`);
  const guilds = Array.from({ length: 8 }, (_, guild) => ({
    name: `Guild ${guild}`,
    channels: channels.slice(25 * guild, 25 * (guild + 1)),
  }));
  const discord = await start({ guilds });
  const place = { apiUrl: discord.apiUrl, token: discord.token, database };
  const first = await spawnBot(place);
  for (const channel of channels) await schedule(discord, { channel, prompt: 'ann asks slowly for news' });
  await spawnBot(place);
  await spawnBot(place);
  await makeDue(database);
  await discord.waitFor(() => channels.some((channel) => discord.botMessages(channel).length > 0), {
    timeoutMs: 60_000 * patience,
  });
  await killed(first);
  await expectOneAnswerEach(discord, channels);
});

test('with two shards, the process of the server answers, whichever process notices the time', async () => {
  const database = { file: join(await temporaryFolder(), 'bot.db') };
  const guilds = Array.from({ length: 4 }, (_, index) => ({ name: `G${index}`, channels: [`room${index}`] }));
  const discord = await start({ guilds, shards: 2 });
  const model = answers(() => 'answer to asks slowly for news');
  const shard = async (shards: number[]) =>
    runBot(await botOptions(discord, { model, database, leaseMs: 3_000, client: { shards, shardCount: 2 } }));
  await shard([0]);
  await shard([1]);
  const channels = guilds.map((guild) => guild.channels[0] ?? '');
  for (const channel of channels) await schedule(discord, { channel, prompt: 'news' });
  await makeDue(database);
  await expectOneAnswerEach(discord, channels);
  expect(model.calls).toHaveLength(4);
});
