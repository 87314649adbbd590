// The command pocket-discord exports its spans and metrics to an OTLP receiver.
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { receiver } from '../../../pocket-agent/test/fixtures/programs/otlp-receiver.ts';
import { startDiscord } from '../counterpart/discord.ts';
import { spawnProgram } from '../support/spawn-program.ts';
import { temporaryFolder } from '../support/start-bot.ts';

test('an answer is a trace of run and model calls, without message texts', async () => {
  const collector = await receiver();
  const discord = await startDiscord({ guilds: [{}], shards: 1 });
  onTestFinished(() => discord.close());
  const { child, ended, ready } = spawnProgram({
    DISCORD_TOKEN: discord.token,
    DISCORD_API_URL: discord.apiUrl,
    POCKET_DISCORD_DB: join(await temporaryFolder(), 'bot.db'),
    ...collector.env,
  });
  await ready(1);
  const ann = discord.user('ann');
  ann.say(ann.dm, 'Hello there, old secret friend');
  await discord.waitForBotMessage(ann.dm, ({ content }) => content.length > 10);
  child.kill('SIGTERM');
  expect(await ended).toBe(0);
  const names = collector.spans().map(({ name }) => name.replace(/ .*/, ''));
  expect(names).toEqual(expect.arrayContaining(['invoke_agent', 'chat']));
  expect(collector.metrics().map(({ name }) => name)).toContain('gen_ai.client.operation.duration');
  expect(collector.resource()).toMatchObject({ 'service.name': 'pocket-discord' });
  expect(collector.text()).not.toContain('secret');
});
