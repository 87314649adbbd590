#!/usr/bin/env node
// The command pocket-discord: a bot from the environment; with --shards N, one process for each shard.
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { DiscordBotError, messageOf } from './errors.ts';
import { FIVE_STEPS } from './five-steps.ts';
import { readEnvironment } from './options.ts';

const HELP = `Usage: pocket-discord [--shards N]

  --shards N   N processes, one for each shard; without it discord.js decides, in one process
  --help

The environment says the rest: DISCORD_TOKEN, POCKET_DISCORD_MODELS, DATABASE_URL, …; see docs/discord.md.
`;

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { shards: { type: 'string' }, help: { type: 'boolean' } } });
  if (values.help) {
    process.stdout.write(HELP);
    return;
  }
  const token = process.env.DISCORD_TOKEN;
  if (!token) throw new DiscordBotError('CONFIG_INVALID', FIVE_STEPS);
  const options = readEnvironment(process.env);
  if (values.shards !== undefined) {
    const { startShards } = await import('./shards.ts');
    await startShards({ token, count: values.shards, program: fileURLToPath(import.meta.url), apiUrl: options.apiUrl });
    return;
  }
  // discord.js tells a child of a ShardingManager by itself which shard it is
  const client = process.env.SHARDING_MANAGER ? {} : { client: { shards: 'auto' as const } };
  const { createBot } = await import('./bot.ts');
  const bot = createBot({ token, ...options, ...client });
  const stopping = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve());
    process.once('disconnect', resolve);
  });
  await bot.start();
  await stopping;
  await bot.close();
  // a manager of shards waits for this process to end
  if (process.connected) process.disconnect();
}

try {
  await main();
  process.exitCode ??= 0;
} catch (error) {
  process.stderr.write(`${messageOf(error)}\n`);
  process.exitCode = error instanceof DiscordBotError && error.code === 'CONFIG_INVALID' ? 2 : 1;
}
