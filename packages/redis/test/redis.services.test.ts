import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as passed } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Logger } from 'pocket-agent';
import { type RateStore, type Reserved, WindowShape } from 'pocket-agent/internal';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { silent } from '../../pocket-agent/test/helpers.ts';
import { redisRateStore } from '../src/index.ts';
import type { HammerOptions, HammerReport } from './rate-hammer.ts';

// Processes that share a real Redis share the limits, even while Redis is unavailable.

const WINDOW_MS = 2_000;
const MARGIN_MS = 400;
/** For how long a request counts. */
const KEPT_MS = new WindowShape({ windowMs: WINDOW_MS, marginMs: MARGIN_MS }).keptMs;
/** A window that does not end during a test. */
const LONG_MS = 30_000;
/** Two windows, and what a busy machine adds; half of the limits would take three (see windowsToUse). */
const FULL_USE = 2.9;
const CLOSE_MS = 2_000;
const RPM = 40;
const TPM = 4_000;

let folder: string;
let port: number;
let redis: ChildProcess;
const hammers: Hammer[] = [];
const stores: RateStore[] = [];

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (typeof address !== 'object' || !address) throw new Error('no port');
  return address.port;
}

async function startRedis(): Promise<void> {
  const args = ['--port', port, '--bind', '127.0.0.1', '--dir', folder, '--save', '', '--appendonly', 'no'];
  redis = spawn('redis-server', args.map(String), { stdio: ['ignore', 'pipe', 'inherit'] });
  const { stdout } = redis;
  if (!stdout) throw new Error('redis-server has no stdout');
  await new Promise<void>((resolve, reject) => {
    redis.once('error', () => reject(new Error('redis-server is not installed: apt-get install redis-server')));
    redis.once('exit', (code) => reject(new Error(`redis-server ended with ${code}`)));
    createInterface(stdout).on('line', (line) => {
      if (line.includes('Ready to accept connections')) resolve();
    });
  });
}

async function stopRedis(): Promise<void> {
  const ended = once(redis, 'exit');
  redis.kill('SIGTERM');
  await ended;
}

/** A process that makes as many calls as it can. */
class Hammer {
  readonly reports: HammerReport[] = [];
  readonly child: ChildProcess;
  readonly ended: Promise<unknown[]>;

  constructor(options: Partial<HammerOptions> = {}) {
    const script = fileURLToPath(new URL('rate-hammer.ts', import.meta.url));
    const all: HammerOptions = {
      redisUrl: `redis://127.0.0.1:${port}`,
      windowMs: WINDOW_MS,
      arrivalMarginMs: MARGIN_MS,
      rpm: RPM,
      tpm: TPM,
      ...options,
    };
    this.child = spawn(process.execPath, ['-C', 'pocket-agent/source', script, JSON.stringify(all)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.ended = once(this.child, 'exit');
    if (!this.child.stdout) throw new Error('a hammer has no stdout');
    createInterface(this.child.stdout).on('line', (line) => this.reports.push(JSON.parse(line)));
    hammers.push(this);
  }

  say(word: 'pause' | 'go' | 'close'): void {
    this.child.stdin?.write(`${word}\n`);
  }

  calls(model: string, from = 0, to = Number.POSITIVE_INFINITY) {
    return this.reports.filter(
      (report) => report.type === 'call' && report.model === model && report.at >= from && report.at < to,
    ) as Extract<HammerReport, { type: 'call' }>[];
  }

  texts(type: 'warn' | 'info' | 'error'): string[] {
    return this.reports.flatMap((report) => (report.type === type ? [report.text] : []));
  }

  /** Fails if the process does not end by itself after close(). */
  async close(): Promise<number> {
    this.say('close');
    expect(await Promise.race([this.ended, passed(3_000, 'still running', { ref: false })])).toEqual([0, null]);
    return this.reports.find((report) => report.type === 'closed')?.ms ?? Number.NaN;
  }
}

const models = [
  { model: 'by-requests', limit: RPM, weigh: () => 1 },
  { model: 'by-tokens', limit: TPM, weigh: ({ tokens }: { tokens: number }) => tokens },
];

/** The highest use of any window, as a fraction of the limit. */
function fullestWindow(model: string, of: readonly Hammer[]): number {
  const { limit, weigh } = models.find((each) => each.model === model) ?? { limit: 0, weigh: () => 0 };
  const calls = of.flatMap((hammer) => hammer.calls(model)).sort((one, other) => one.at - other.at);
  let [most, sum, first] = [0, 0, 0];
  for (const call of calls) {
    sum += weigh(call);
    for (let oldest = calls[first]; oldest && call.at - oldest.at >= WINDOW_MS; oldest = calls[++first])
      sum -= weigh(oldest);
    most = Math.max(most, sum);
  }
  return most / limit;
}

/**
 * How many windows it takes from the next call on until 0.85 of what `windows` of them allow is used. Calls come in
 * bursts, one a window, and the next call may be the first or the last of one: either way this is at most `windows`
 * when the limits are used, and what a busy machine adds; at half of them it is one more at least.
 */
async function windowsToUse(of: readonly Hammer[], windows: number): Promise<number> {
  const from = Date.now();
  const spans = () =>
    models.map(({ model, limit, weigh }) => {
      const calls = of.flatMap((hammer) => hammer.calls(model, from)).sort((one, other) => one.at - other.at);
      let used = 0;
      const last = calls.find((call) => {
        used += weigh(call);
        return used >= 0.85 * windows * limit;
      });
      return last && calls[0] ? (last.at - calls[0].at) / KEPT_MS : Number.POSITIVE_INFINITY;
    });
  await expect.poll(() => Math.max(...spans())).toBeLessThan(Number.POSITIVE_INFINITY);
  return Math.max(...spans());
}

function expectWithinLimits(of: readonly Hammer[]): void {
  for (const { model } of models) expect(fullestWindow(model, of), `${model}, of its limit`).toBeLessThanOrEqual(1);
}

function store(logger: Logger = silent, prefix = 'test'): RateStore {
  const shape = new WindowShape({ windowMs: LONG_MS, marginMs: 0 });
  const made = redisRateStore({ url: `redis://127.0.0.1:${port}`, prefix })({ shape, logger });
  stores.push(made);
  return made;
}

/** Reserves, however long that takes. */
async function place(of: RateStore, key: string, tokens: number, limits: { requests?: number; tokens?: number }) {
  for (;;) {
    const reserved = await of.counter(key).reserve(tokens, { requests: limits.requests, tokens: limits.tokens });
    if ('reservation' in reserved) return reserved.reservation;
    await passed(reserved.waitMs);
  }
}

const isTaken = (reserved: Reserved) => 'reservation' in reserved;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-agent-redis-'));
  port = await freePort();
  await startRedis();
});

afterEach(async () => {
  await Promise.all(stores.splice(0).map((made) => made.close()));
  for (const { child } of hammers.splice(0)) if (child.exitCode === null) child.kill('SIGKILL');
});

afterAll(async () => {
  if (redis?.exitCode === null && redis.pid !== undefined) await stopRedis();
  await rm(folder, { recursive: true, force: true });
});

test('processes share windows only if they use the same prefix', async () => {
  const limits = { requests: 1, tokens: undefined };
  await place(store(silent, 'one-app'), 'model#1', 1, limits);
  expect(isTaken(await store(silent, 'one-app').counter('model#1').reserve(1, limits))).toBe(false);
  expect(isTaken(await store(silent, 'another-app').counter('model#1').reserve(1, limits))).toBe(true);
});

describe('two processes', () => {
  test('keep the shared limits and use them fully while Redis is available, unavailable and back', async () => {
    const [first, second] = [new Hammer(), new Hammer()];
    const both = [first, second];
    expect(await windowsToUse(both, 2), 'while Redis is there').toBeLessThan(FULL_USE);
    expectWithinLimits(both);

    await stopRedis();
    const away = Date.now();
    await expect.poll(() => both.map((hammer) => hammer.texts('warn').length)).toEqual([1, 1]);
    await passed(KEPT_MS);
    await windowsToUse(both, 1);
    const back = Date.now();
    await startRedis();
    for (const hammer of both) {
      for (const { model } of models) expect(hammer.calls(model, away, back).length, model).toBeGreaterThan(0);
      expect(hammer.texts('warn')).toEqual([
        expect.stringMatching(/^Redis at 127\.0\.0\.1:\d+ cannot be reached .*uses 1\/2 of each limit/),
      ]);
    }

    await expect.poll(() => both.map((hammer) => hammer.texts('info').length)).toEqual([1, 1]);
    await passed(KEPT_MS);
    expectWithinLimits(both);
    second.say('pause');
    await passed(KEPT_MS); // the use of the second process has expired
    expect(await windowsToUse([first], 2), 'after Redis came back').toBeLessThan(FULL_USE);
    expectWithinLimits(both);
    for (const hammer of both) {
      expect(hammer.texts('warn').length).toBe(1);
      expect(hammer.texts('error')).toEqual([]);
      expect(await hammer.close()).toBeLessThan(CLOSE_MS);
    }
  });
});

describe('a Redis that cannot be used', () => {
  test('never reachable: the limits are kept locally, one warning is logged, and close() leaves nothing behind', async () => {
    const hammer = new Hammer({ redisUrl: `redis://:secret@127.0.0.1:${await freePort()}` });
    expect(await windowsToUse([hammer], 2)).toBeLessThan(FULL_USE);
    expectWithinLimits([hammer]);
    expect(hammer.texts('warn')).toEqual([expect.stringContaining('ECONNREFUSED')]);
    expect(hammer.texts('warn')[0]).not.toContain('secret');
    expect(await hammer.close()).toBeLessThan(CLOSE_MS);
  });

  test('it hangs: a call continues with the local share after half a second, and close() does not wait for it', async () => {
    const hanging = store();
    await place(hanging, 'hang', 1, { requests: 10 });
    redis.kill('SIGSTOP');
    try {
      const started = performance.now();
      expect(await hanging.counter('hang').reserve(1, { requests: 10, tokens: undefined })).toHaveProperty(
        'reservation',
      );
      expect(performance.now() - started).toBeLessThan(5_000 * Number(process.env.TEST_PATIENCE));
      vi.useFakeTimers({ toFake: ['setTimeout'] }); // if close() waited for a timeout, it would not end
      await hanging.close();
    } finally {
      vi.useRealTimers();
      redis.kill('SIGCONT');
    }
  });
});

describe('the shared window', () => {
  test('reservations, corrections and the count of a provider are visible to every process', async () => {
    const [one, other] = [store(), store()];
    const limits = { requests: undefined, tokens: 100 };
    const reservation = await place(one, 'seen', 80, { tokens: 100 });
    const refused = await other.counter('seen').reserve(30, limits);
    expect(refused).toEqual({ waitMs: expect.toSatisfy((ms) => ms > LONG_MS / 2 && ms <= LONG_MS + LONG_MS / 60) });
    await one.counter('seen').settle(reservation, 50);
    expect(await other.counter('seen').total()).toEqual({ requests: 1, tokens: 50 });
    expect(await other.counter('seen').reserve(30, limits)).toHaveProperty('reservation');
    await one.counter('seen').raise({ requests: 1, tokens: 95, resetMs: 1_500 });
    expect(await other.counter('seen').total()).toEqual({ requests: 2, tokens: 95 });
    await expect.poll(() => other.counter('seen').total()).toEqual({ requests: 2, tokens: 80 });
  });

  test('two processes that reserve at the same time get exactly as many places as there are', async () => {
    const [one, other] = [store(), store()];
    await Promise.all([one, other].map((each) => place(each, 'door', 1, {})));
    const asked = [one, other].flatMap((each) =>
      Array.from({ length: 100 }, () => each.counter('crowd').reserve(1, { requests: 30, tokens: undefined })),
    );
    expect((await Promise.all(asked)).filter(isTaken).length).toBe(30);
  });

  test('a Redis that lost its data gets the use reported again', async () => {
    const [one, other] = [store(), store()];
    for (let call = 0; call < 5; call++) await place(one, 'told', 10, { requests: 20 });
    await other.counter('told').total();
    await stopRedis();
    expect(await one.counter('told').reserve(10, { requests: 20, tokens: undefined })).toHaveProperty('reservation');
    await startRedis();
    await expect.poll(() => other.counter('told').total(), { interval: 20 }).toEqual({ requests: 6, tokens: 60 });
  });

  test('after a restart of Redis a process takes no more than its share until all can have reconnected', async () => {
    const news: string[] = [];
    const one = store({ ...silent, info: (text) => news.push(text) });
    const other = store();
    for (const each of [one, other, one]) await place(each, 'late', 1, { requests: 20 });
    await stopRedis();
    await other.close(); // it cannot sign off, so `one` still counts it
    await startRedis();
    await expect.poll(() => news).toEqual([expect.stringContaining('is back')]);
    await one.counter('late').total();
    const asked = Array.from({ length: 30 }, () => one.counter('late').reserve(1, { requests: 20, tokens: undefined }));
    const taken = (await Promise.all(asked)).filter(isTaken).length;
    expect(taken).toBeGreaterThan(0);
    expect(taken).toBeLessThanOrEqual(10);
  });
});
