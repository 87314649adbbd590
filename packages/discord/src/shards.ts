// One process for each shard, no sooner one after the other than Discord lets them in.
import { DiscordAPIError, REST, type RESTGetAPIGatewayBotResult, Routes, ShardingManager } from 'discord.js';
import { loginRefused } from './discord-error.ts';
import { DiscordBotError } from './errors.ts';

interface Shards {
  token: string;
  /** As it was typed. */
  count: string;
  /** What each process runs. */
  program: string;
  apiUrl: string | undefined;
}

/** Discord lets `max_concurrency` shards in every five seconds. */
const IDENTIFY_MS = 5_500;

/** Resolves when all of them are there. SIGTERM and SIGINT end them. */
export async function startShards({ token, count, program, apiUrl }: Shards): Promise<void> {
  const totalShards = Number(count);
  if (!Number.isInteger(totalShards) || totalShards < 1) {
    throw new DiscordBotError('CONFIG_INVALID', `--shards must be a whole number of 1 or more, not "${count}".`);
  }
  const manager = new ShardingManager(program, { token, totalShards, execArgv: process.execArgv, respawn: true });
  const stop = () => {
    manager.respawn = false;
    for (const shard of manager.shards.values()) if (shard.process) shard.process.kill('SIGTERM');
  };
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
  const delay = Math.ceil(IDENTIFY_MS / (await atOnce(token, apiUrl)));
  try {
    await manager.spawn({ delay });
  } catch (error) {
    stop(); // one that cannot start would be started for ever
    throw error;
  }
}

async function atOnce(token: string, apiUrl: string | undefined): Promise<number> {
  const rest = new REST({ version: '10', ...(apiUrl === undefined ? {} : { api: apiUrl }) }).setToken(token);
  try {
    const gateway = (await rest.get(Routes.gatewayBot())) as RESTGetAPIGatewayBotResult;
    return Math.max(1, gateway.session_start_limit.max_concurrency);
  } catch (error) {
    if (error instanceof DiscordAPIError && error.status === 401) throw loginRefused(error);
    return 1; // the processes tell what is wrong
  }
}
