// One connection to Redis that answers soon or counts as lost; it never mends itself.
import { PocketError } from '@pocket-agent/kit';
import type { Piece, PieceClock } from './local-share.ts';
import type { ProviderCount, RateLimits, WindowUse } from './rate-window.ts';
import { type ScriptName, scripts } from './redis-script.ts';

/** A command without an answer for this long means that Redis is lost. */
const COMMAND_TIMEOUT_MS = 500;
/** A peer that is silent for this long is gone; longer when a window is. */
const PEER_MS = 5_000;

export type SharedReserved = { peers: number; used: WindowUse } & ({ bucket: number } | { waitMs: number });

export interface SharedCount {
  peers: number;
  pieces: Piece[];
}

/** Every operation says that this process is there; any of them rejects when Redis does not answer. */
export interface RedisLink {
  /** Differs after every start of Redis: what it held before may be gone. */
  readonly runId: string;
  /** How long Redis had been up when the connection was made. */
  readonly uptimeMs: number;
  /** Settles when the connection has ended, with the reason. */
  readonly lost: Promise<unknown>;
  reserve(key: string, tokens: number, limits: RateLimits): Promise<SharedReserved>;
  settle(key: string, bucket: number, change: number): Promise<true>;
  raise(key: string, count: ProviderCount, piecesAgo: number): Promise<void>;
  /** Adds pieces, if any, and reads the whole count. */
  merge(key: string, pieces: readonly Piece[]): Promise<SharedCount>;
  /** Says goodbye, so that the peers do not count this process any more. */
  leave(): Promise<void>;
  destroy(): void;
}

/** Whoever has the same namespace shares the windows. */
export async function openLink(url: string, namespace: string, clock: PieceClock, member: string): Promise<RedisLink> {
  const { createClient } = await loadRedis();
  const client = createClient({
    url,
    RESP: 2,
    disableOfflineQueue: true,
    socket: { connectTimeout: COMMAND_TIMEOUT_MS, reconnectStrategy: false },
  });
  const lost = new Promise<unknown>((resolve) => client.on('error', resolve));
  const command = (args: string[]) => within(COMMAND_TIMEOUT_MS, client.sendCommand(args));
  const destroy = () => {
    if (client.isOpen) client.destroy();
  };
  try {
    await within(2 * COMMAND_TIMEOUT_MS, client.connect());
    const info = String(await command(['INFO', 'server']));
    const hashes = new Map<string, string>();
    for (const [name, script] of Object.entries(scripts)) {
      hashes.set(name, String(await command(['SCRIPT', 'LOAD', script])));
    }
    // windows of another shape have pieces of another length
    const prefix = `${namespace}:rate:${clock.bucketMs}x${clock.size}:`;
    const always = [clock.bucketMs, clock.size, member, Math.max(PEER_MS, clock.keptMs)];
    const run = async (script: ScriptName, key: string, args: readonly (string | number)[]) => {
      const keys = [`${prefix}window:${key}`, `${prefix}peers`];
      const reply = await command([
        'EVALSHA',
        hashes.get(script) ?? '',
        '2',
        ...keys,
        ...[...always, ...args].map(String),
      ]);
      if (!Array.isArray(reply)) throw new Error(`Redis answered ${String(reply)} to the script "${script}".`);
      return reply.map(Number);
    };
    return {
      runId: field(info, 'run_id'),
      uptimeMs: Number(field(info, 'uptime_in_seconds')) * 1_000,
      lost,
      async reserve(key, tokens, limits) {
        const reply = await run('reserve', key, [tokens, limits.requests ?? '', limits.tokens ?? '']);
        const [taken, bucketOrWait = 0, peers = 1, requests = 0, usedTokens = 0] = reply;
        const result = taken === 1 ? { bucket: bucketOrWait } : { waitMs: bucketOrWait };
        return { ...result, peers, used: { requests, tokens: usedTokens } };
      },
      async settle(key, bucket, change) {
        await run('settle', key, [bucket, change]);
        return true;
      },
      async raise(key, { requests = 0, tokens = 0 }, piecesAgo) {
        await run('raise', key, [requests, tokens, piecesAgo]);
      },
      async merge(key, pieces) {
        // the pieces of Redis may be cut differently, so what it is told of counts from the next
        const told = pieces.flatMap(({ age, requests, tokens }) => [Math.max(0, age - 1), requests, tokens]);
        const [peers = 1, ...numbers] = await run('merge', key, told);
        const all: Piece[] = [];
        for (let index = 0; index < numbers.length; index += 3) {
          const [age = 0, requests = 0, tokens = 0] = numbers.slice(index, index + 3);
          all.push({ age, requests, tokens });
        }
        return { peers, pieces: all };
      },
      async leave() {
        await run('leave', '', []);
      },
      destroy,
    };
  } catch (error) {
    destroy();
    throw error;
  }
}

async function loadRedis(): Promise<typeof import('redis')> {
  try {
    return await import('redis');
  } catch (cause) {
    throw new PocketError('CONFIG_INVALID', 'Router: redisUrl needs the package redis: npm install redis', { cause });
  }
}

function field(info: string, name: string): string {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
}

async function within<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    const expire = () => reject(new Error(`no answer within ${ms} ms`));
    // a process that was busy itself reads the answer that lies waiting before it gives up
    timer = setTimeout(() => setImmediate(expire), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}
