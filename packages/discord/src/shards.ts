// One process for each shard, no sooner one after the other than Discord lets them in.
import { setTimeout as passed } from 'node:timers/promises';
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
import { loginFailed } from './base/discord-errors.ts';
import { DiscordBotError } from './base/errors.ts';
import { tellWaiting } from './gateway/connect-warnings.ts';
import { stopSignal, whenAborted } from './stop-signal.ts';

interface Shards {
  token: string;
  logger: Logger;
  /** As it was typed. */
  count: string;
  /** What each process runs. */
  program: string;
  apiUrl: string | undefined;
}

/** Discord lets `max_concurrency` shards in every five seconds. */
const IDENTIFY_MS = 5_500;
const RESPAWN_MS = 1_000;
/** Longer than a shard takes to give up by itself. */
const LAST_RESORT_MS = 9_900;
const HURRIED = 130;

/**
 * Resolves with an exit code when all of them have ended: at SIGINT or SIGTERM, or because one could not start, which
 * has told why. One that had been up is started again.
 */
export async function runShards({ token, logger, count, program, apiUrl }: Shards): Promise<number> {
  const totalShards = Number(count);
  if (!Number.isInteger(totalShards) || totalShards < 1) {
    throw new DiscordBotError('CONFIG_INVALID', `--shards must be a whole number of 1 or more, not "${count}".`);
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
  const asked = stopSignal(() => {
    kill('SIGKILL');
    process.exit(HURRIED);
  });
  const failing = new AbortController();
  const stop = AbortSignal.any([asked, failing.signal]);
  const delay = Math.ceil(IDENTIFY_MS / (await atOnce({ token, apiUrl, stop, logger })));
  const ends: Promise<void>[] = [];
  let code = 0;
  for (const id of shardList) {
    if (stop.aborted) break;
    const shard = new KeptShard(manager.createShard(id), { stop, logger });
    ends.push(
      shard.ended.then((failure) => {
        if (stop.aborted) return;
        code = failure;
        failing.abort();
      }),
    );
    const next = Promise.all([shard.up, passed(id + 1 < totalShards ? delay : 0, undefined, { ref: false })]);
    await Promise.race([next, whenAborted(stop)]);
  }
  await whenAborted(stop);
  kill('SIGTERM');
  setTimeout(() => kill('SIGKILL'), LAST_RESORT_MS).unref();
  await Promise.all(ends);
  return code;
}

/** A shard that is started again when it falls, once it has been up. */
class KeptShard {
  readonly up: Promise<void>;
  /** With an exit code, when it is not started any more. */
  readonly ended: Promise<number>;

  constructor(shard: Shard, { stop, logger }: { stop: AbortSignal; logger: Logger }) {
    const [up, ended] = [Promise.withResolvers<void>(), Promise.withResolvers<number>()];
    this.up = up.promise;
    this.ended = ended.promise;
    let wasUp = false;
    shard.on(ShardEvents.Ready, () => {
      wasUp = true;
      up.resolve();
    });
    // no limit of time: like a bot without shards it waits until Discord is there
    const start = () => void shard.spawn(-1);
    shard.on(ShardEvents.Death, (child) => {
      const { exitCode = null, signalCode = null } = 'exitCode' in child ? child : {};
      if (wasUp && !stop.aborted) {
        logger.warn('A shard has ended and is started again', { shard: shard.id, exitCode, signal: signalCode });
        passed(RESPAWN_MS, undefined, { signal: stop }).then(start, () => ended.resolve(0));
      } else ended.resolve(exitCode || 1);
    });
    start();
  }
}

async function atOnce({ token, apiUrl, stop, logger }: Omit<Shards, 'count' | 'program'> & { stop: AbortSignal }) {
  const rest = new REST({ version: '10', ...(apiUrl === undefined ? {} : { api: apiUrl }) }).setToken(token);
  const stopTelling = tellWaiting(rest, logger);
  try {
    const gateway = (await rest.get(Routes.gatewayBot(), { signal: stop })) as RESTGetAPIGatewayBotResult;
    return Math.max(1, gateway.session_start_limit.max_concurrency);
  } catch (error) {
    if (error instanceof DiscordAPIError && error.status === 401) throw loginFailed(error, apiUrl);
    return 1; // the processes tell what is wrong
  } finally {
    stopTelling();
  }
}
