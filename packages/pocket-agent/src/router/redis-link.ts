// One connection to Redis that answers soon or counts as lost; it never mends itself.
import { PocketError } from '../errors.ts';
import { type ScriptName, scripts } from './redis-script.ts';

/** A command without an answer for this long means that Redis is lost. */
const COMMAND_TIMEOUT_MS = 500;

export interface RedisLink {
  /** Differs after every start of Redis: what it held before may be gone. */
  readonly runId: string;
  /** How long Redis had been up when the connection was made. */
  readonly uptimeMs: number;
  /** Settles when the connection has ended, with the reason. */
  readonly lost: Promise<unknown>;
  /** The numbers that the script returned. */
  run(script: ScriptName, keys: readonly string[], args: readonly (string | number)[]): Promise<number[]>;
  destroy(): void;
}

export async function openLink(url: string): Promise<RedisLink> {
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
    const hashes = new Map<ScriptName, string>();
    for (const name of Object.keys(scripts).filter(isScriptName)) {
      hashes.set(name, String(await command(['SCRIPT', 'LOAD', scripts[name]])));
    }
    return {
      runId: field(info, 'run_id'),
      uptimeMs: Number(field(info, 'uptime_in_seconds')) * 1_000,
      lost,
      async run(script, keys, args) {
        const reply = await command(['EVALSHA', hashes.get(script) ?? '', String(keys.length), ...keys, ...args.map(String)]);
        if (!Array.isArray(reply)) throw new Error(`Redis answered ${String(reply)} to the script "${script}".`);
        return reply.map(Number);
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

function isScriptName(name: string): name is ScriptName {
  return name in scripts;
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
