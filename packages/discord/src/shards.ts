// Starts one process per shard, as fast as Discord allows.
import { setTimeout as sleep } from 'node:timers/promises';
import {
  DiscordAPIError,
  REST,
  type RESTGetAPIGatewayBotResult,
  Routes,
  type Shard,
  ShardEvents,
  ShardingManager,
} from 'discord.js';
import type { Logger } from 'pocket-agent';
import { loginError } from './base/discord-errors.ts';
import { DiscordBotError } from './base/errors.ts';
import { warnWhileConnecting } from './gateway/connect-warnings.ts';
import { stopSignal, whenAborted } from './stop-signal.ts';

interface ShardOptions {
  token: string;
  logger: Logger;
  /** The argument as typed. */
  count: string;
  /** The file that each process runs. */
  program: string;
  apiUrl: string | undefined;
}

/** Discord accepts `max_concurrency` shards every five seconds. */
const IDENTIFY_MS = 5_500;
const RESPAWN_MS = 1_000;
/** Longer than a shard needs to exit by itself. */
const FORCE_EXIT_MS = 9_900;
const FORCED_EXIT = 130;

/**
 * Resolves with an exit code when all shards have ended: after SIGINT or SIGTERM, or because one could not start and has
 * printed why. A shard that was ready before is restarted.
 */
export async function runShards({ token, logger, count, program, apiUrl }: ShardOptions): Promise<number> {
  const totalShards = Number(count);
  if (!Number.isInteger(totalShards) || totalShards < 1) {
    throw new DiscordBotError('CONFIG_INVALID', `--shards must be an integer of at least 1, not "${count}".`);
  }
  const shardList = [...Array(totalShards).keys()];
  const manager = new ShardingManager(program, {
    token,
    totalShards,
    shardList,
    execArgv: process.execArgv,
    respawn: false,
  });
  const kill = (signal: NodeJS.Signals) => {
    for (const { process: child } of manager.shards.values()) if (child && 'kill' in child) child.kill(signal);
  };
  const requested = stopSignal(() => {
    kill('SIGKILL');
    process.exit(FORCED_EXIT);
  });
  const failing = new AbortController();
  const stop = AbortSignal.any([requested, failing.signal]);
  const delay = Math.ceil(IDENTIFY_MS / (await maxConcurrency({ token, apiUrl, stop, logger })));
  const ends: Promise<void>[] = [];
  let code = 0;
  for (const id of shardList) {
    if (stop.aborted) break;
    const shard = new RestartingShard(manager.createShard(id), { stop, logger });
    ends.push(
      shard.ended.then((failure) => {
        if (stop.aborted) return;
        code = failure;
        failing.abort();
      }),
    );
    const next = Promise.all([shard.up, sleep(id + 1 < totalShards ? delay : 0, undefined, { ref: false })]);
    await Promise.race([next, whenAborted(stop)]);
  }
  await whenAborted(stop);
  kill('SIGTERM');
  setTimeout(() => kill('SIGKILL'), FORCE_EXIT_MS).unref();
  await Promise.all(ends);
  return code;
}

/** A shard that restarts if it ends after it was ready once. */
class RestartingShard {
  readonly up: Promise<void>;
  /** Resolves with an exit code when it is not restarted. */
  readonly ended: Promise<number>;

  constructor(shard: Shard, { stop, logger }: { stop: AbortSignal; logger: Logger }) {
    const [up, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
    this.up = up.promise;
    this.ended = ended.promise;
    let wasReady = false;
    shard.on(ShardEvents.Ready, () => {
      wasReady = true;
      up.resolve();
    });
    // no timeout: like a bot without shards, it waits for Discord
    const start = () => void shard.spawn(-1);
    shard.on(ShardEvents.Death, (child) => {
      const { exitCode = null, signalCode = null } = 'exitCode' in child ? child : {};
      if (wasReady && !stop.aborted) {
        logger.warn('A shard ended; restarting it', { shard: shard.id, exitCode, signal: signalCode });
        sleep(RESPAWN_MS, undefined, { signal: stop }).then(start, () => ended.resolve(0));
      } else ended.resolve(exitCode || 1);
    });
    start();
  }
}

async function maxConcurrency({
  token,
  apiUrl,
  stop,
  logger,
}: Omit<ShardOptions, 'count' | 'program'> & { stop: AbortSignal }) {
  const rest = new REST({ version: '10', ...(apiUrl === undefined ? {} : { api: apiUrl }) }).setToken(token);
  const stopWarnings = warnWhileConnecting(rest, logger);
  try {
    const gateway = (await rest.get(Routes.gatewayBot(), { signal: stop })) as RESTGetAPIGatewayBotResult;
    return Math.max(1, gateway.session_start_limit.max_concurrency);
  } catch (error) {
    if (error instanceof DiscordAPIError && error.status === 401) throw loginError(error, apiUrl);
    return 1; // the shards report what is wrong
  } finally {
    stopWarnings();
  }
}
