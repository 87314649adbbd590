// One connection to Redis. A command that is not answered in time ends it; it never reconnects.
import { settlesWithin } from '@pocket-agent/kit';
import type { ProviderCount, RateLimits, SlotUse, WindowShape, WindowUse } from 'pocket-agent/internal';
import { createClient } from 'redis';
import { scripts } from './redis-scripts.ts';

const COMMAND_TIMEOUT_MS = 500;
/** A peer that was silent for this long, or for a whole window, is no longer counted. */
const MIN_PEER_TTL_MS = 5_000;

type Client = ReturnType<typeof newClient>;

export interface RateRequest {
  /** The id of the deployment. */
  key: string;
  tokens: number;
  limits: RateLimits;
}

/** What Redis answers to a reservation. */
type SharedReserved = { peers: number; used: WindowUse } & ({ slot: number } | { waitMs: number });

export interface SharedCount {
  peers: number;
  slots: SlotUse[];
}

interface RedisSettings {
  url: string;
  /** Processes with the same prefix share the windows. */
  prefix: string;
  shape: WindowShape;
  /** This process, as its peers count it. */
  member: string;
}

/** Every method shows this process to its peers, and rejects when Redis does not answer. */
export class RedisConnection {
  /** Changes with every start of Redis, which may have lost its data. */
  readonly runId: string;
  /** How long Redis had been running when the connection was made. */
  readonly uptimeMs: number;
  /** Resolves with the reason when the connection has ended. */
  readonly lost: Promise<unknown>;
  readonly #client: Client;
  readonly #settings: RedisSettings;

  private constructor(
    client: Client,
    settings: RedisSettings,
    { info, lost }: { info: string; lost: Promise<unknown> },
  ) {
    this.#client = client;
    this.#settings = settings;
    this.lost = lost;
    this.runId = infoField(info, 'run_id');
    this.uptimeMs = Number(infoField(info, 'uptime_in_seconds')) * 1_000;
  }

  static async open(settings: RedisSettings): Promise<RedisConnection> {
    const client = newClient(settings.url);
    const lost = new Promise<unknown>((resolve) => client.on('error', resolve));
    try {
      await withTimeout(2 * COMMAND_TIMEOUT_MS, client.connect());
      const info = await withTimeout(COMMAND_TIMEOUT_MS, client.info('server'));
      return new RedisConnection(client, settings, { info, lost });
    } catch (error) {
      if (client.isOpen) client.destroy();
      throw error;
    }
  }

  async reserve({ key, tokens, limits }: RateRequest): Promise<SharedReserved> {
    const args = [tokens, limits.requests ?? '', limits.tokens ?? ''];
    const [isReserved, slotOrWait = 0, peers = 1, requests = 0, usedTokens = 0] = await this.#run('reserve', key, args);
    const result = isReserved === 1 ? { slot: slotOrWait } : { waitMs: slotOrWait };
    return { ...result, peers, used: { requests, tokens: usedTokens } };
  }

  async settle(key: string, slot: number, change: number): Promise<true> {
    await this.#run('settle', key, [slot, change]);
    return true;
  }

  async raise(key: string, { requests = 0, tokens = 0, resetMs }: ProviderCount): Promise<void> {
    await this.#run('raise', key, [requests, tokens, Math.min(resetMs, this.#settings.shape.windowMs)]);
  }

  /** Adds slots to the shared count and reads the whole count. */
  async merge(key: string, slots: readonly SlotUse[]): Promise<SharedCount> {
    // one slot younger: the slots of Redis may start at other times than ours
    const added = slots.flatMap(({ age, requests, tokens }) => [Math.max(0, age - 1), requests, tokens]);
    const [peers = 1, ...numbers] = await this.#run('merge', key, added);
    const shared: SlotUse[] = [];
    for (let index = 0; index < numbers.length; index += 3) {
      const [age = 0, requests = 0, tokens = 0] = numbers.slice(index, index + 3);
      shared.push({ age, requests, tokens });
    }
    return { peers, slots: shared };
  }

  /** Signs off: the peers no longer count this process. */
  async leave(): Promise<void> {
    await this.#run('leave', '', []);
  }

  destroy(): void {
    if (this.#client.isOpen) this.#client.destroy();
  }

  async #run(script: keyof typeof scripts, key: string, args: readonly (string | number)[]): Promise<number[]> {
    const { prefix, shape, member } = this.#settings;
    const { slotMs, slotCount, keptMs } = shape;
    // windows of another shape have slots of another length
    const keyPrefix = `${prefix}:rate:${slotMs}x${slotCount}:`;
    const common = [slotMs, slotCount, member, Math.max(MIN_PEER_TTL_MS, keptMs)];
    const command = this.#client.eval(scripts[script], {
      keys: [`${keyPrefix}window:${key}`, `${keyPrefix}peers`],
      arguments: [...common, ...args].map(String),
    });
    const reply: unknown = await withTimeout(COMMAND_TIMEOUT_MS, command);
    if (!Array.isArray(reply)) throw new Error(`Redis answered ${String(reply)} to the script "${script}".`);
    return reply.map(Number);
  }
}

function newClient(url: string) {
  const socket = { connectTimeout: COMMAND_TIMEOUT_MS, reconnectStrategy: false as const };
  return createClient({ url, RESP: 2, disableOfflineQueue: true, socket });
}

function infoField(info: string, name: string): string {
  const line = info.split(/\r?\n/).find((each) => each.startsWith(`${name}:`));
  return line?.slice(name.length + 1) ?? '';
}

async function withTimeout<Value>(ms: number, promise: Promise<Value>): Promise<Value> {
  if (!(await settlesWithin(ms, promise))) throw new Error(`no answer within ${ms} ms`);
  return promise;
}
