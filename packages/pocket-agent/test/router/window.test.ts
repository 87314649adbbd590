import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import {
  bucketMsOf,
  MemoryRateStore,
  piecesKept,
  type RateLimits,
  type Reservation,
} from '../../src/router/rate-window.ts';

// The promise of the window, held against whatever may happen: calls, corrections, and time that passes.

const KEY = 'deployment';

interface Grant {
  at: number;
  tokens: number;
  reservation: Reservation;
}

const step = fc.oneof(
  fc.record({ kind: fc.constant('pass' as const), share: fc.double({ min: 0, max: 1.5, noNaN: true }) }),
  fc.record({ kind: fc.constant('reserve' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant('burst' as const), share: fc.double({ min: 0, max: 0.2, noNaN: true }) }),
  fc.record({ kind: fc.constant('patient' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
  fc.record({ kind: fc.constant('settle' as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }),
);

const world = fc.record({
  windowMs: fc.integer({ min: 60, max: 120_000 }),
  marginMs: fc.integer({ min: 0, max: 2_000 }),
  start: fc.integer({ min: 0, max: 2_000_000_000_000 }),
  requests: fc.option(fc.integer({ min: 1, max: 30 }), { nil: undefined }),
  tokens: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
  steps: fc.array(step, { minLength: 1, maxLength: 80 }),
});

type World = typeof world extends fc.Arbitrary<infer Value> ? Value : never;

/** Lives through a world; every store in it sees the same. */
function live({ windowMs, marginMs, start, requests, tokens, steps }: World) {
  const shape = { windowMs, marginMs };
  const limits: RateLimits = { requests, tokens };
  const clock = { now: start };
  const store = new MemoryRateStore(shape, () => clock.now);
  const twin = new MemoryRateStore(shape, () => clock.now);
  const grants: Grant[] = [];
  const most = tokens ?? 1_000;
  const reserve = (amount: number) => {
    const reserved = store.reserve(KEY, amount, limits);
    expect(twin.reserve(KEY, amount, limits)).toEqual(reserved);
    if ('reservation' in reserved) grants.push({ at: clock.now, tokens: amount, reservation: reserved.reservation });
    return reserved;
  };
  for (const { kind, share } of steps) {
    if (kind === 'pass') clock.now += Math.round(share * windowMs);
    if (kind === 'reserve') reserve(Math.round(share * most));
    if (kind === 'burst') for (let call = 0; call < 10; call++) reserve(Math.round(share * most));
    if (kind === 'patient') {
      // asks again at the very moment it was told: nobody comes closer to the edge of the window
      const reserved = reserve(Math.round(share * most));
      if ('waitMs' in reserved) {
        clock.now += reserved.waitMs;
        reserve(Math.round(share * most));
      }
    }
    const grant = grants[Math.floor(share * grants.length)];
    if (kind !== 'settle' || !grant) continue;
    const less = Math.round(grant.tokens * share);
    for (const each of [store, twin]) each.settle(KEY, grant.reservation, less);
    grant.reservation = { ...grant.reservation, tokens: less };
    grant.tokens = less;
  }
  return {
    shape,
    limits,
    clock,
    store,
    twin,
    grants,
    most,
    bucketMs: bucketMsOf(shape),
    keptMs: piecesKept(shape) * bucketMsOf(shape),
  };
}

describe('over any sequence of calls, corrections and waits', () => {
  test('no window, and no window late by the margin, ever holds more than the limits', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { grants, shape, limits } = live(drawn);
        for (const [index, { at }] of grants.entries()) {
          const within = grants.slice(index).filter((other) => other.at - at <= shape.windowMs + shape.marginMs);
          expect(within.length).toBeLessThanOrEqual(limits.requests ?? Number.POSITIVE_INFINITY);
          const tokens = within.reduce((sum, grant) => sum + grant.tokens, 0);
          expect(tokens).toBeLessThanOrEqual(limits.tokens ?? Number.POSITIVE_INFINITY);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('whoever waits as long as he was told gets his place, and a moment sooner is too soon', () => {
    fc.assert(
      fc.property(world, fc.double({ min: 0, max: 1, noNaN: true }), (drawn, share) => {
        const { store, twin, clock, limits, most, keptMs } = live(drawn);
        const amount = Math.round(share * most);
        const reserved = store.reserve(KEY, amount, limits);
        if ('reservation' in reserved) return;
        const { waitMs } = reserved;
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(keptMs + 0.01);
        const asked = clock.now;
        clock.now = asked + waitMs - 1.01; // no wait is shorter than a millisecond
        if (clock.now > asked) expect(twin.reserve(KEY, amount, limits)).toHaveProperty('waitMs');
        // a clock counts in fractions that do not add up to the last digit
        clock.now = asked + waitMs + 0.01;
        expect(store.reserve(KEY, amount, limits)).toHaveProperty('reservation');
      }),
      { numRuns: 500 },
    );
  });

  test('a provider that counts more only ever takes room away, until the moment it said and at most a piece longer', () => {
    const count = fc.record({
      requests: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
      tokens: fc.option(fc.integer({ min: 0, max: 200_000 }), { nil: undefined }),
      resetMs: fc.integer({ min: 0, max: 240_000 }),
    });
    fc.assert(
      fc.property(world, count, (drawn, provider) => {
        const { store, twin, clock, limits, shape, bucketMs } = live(drawn);
        const raised = clock.now;
        const before = twin.used(KEY);
        store.raise(KEY, provider);
        const after = store.used(KEY);
        expect(after.requests).toBe(Math.max(before.requests, provider.requests ?? 0));
        expect(after.tokens).toBe(Math.max(before.tokens, provider.tokens ?? 0));
        const lastsMs = Math.min(provider.resetMs, shape.windowMs);
        clock.now = raised + Math.max(0, lastsMs - 0.01);
        const [raisedUse, plainUse] = [store.used(KEY), twin.used(KEY)];
        expect(raisedUse.requests - plainUse.requests).toBe(after.requests - before.requests);
        expect(raisedUse.tokens - plainUse.tokens).toBe(after.tokens - before.tokens);
        clock.now = raised + lastsMs + bucketMs + 0.01;
        expect(store.used(KEY)).toEqual(twin.used(KEY));
        expect(store.reserve(KEY, 1, limits)).toEqual(twin.reserve(KEY, 1, limits));
      }),
      { numRuns: 500 },
    );
  });

  test('nothing is left of a window that was not used for as long as it counts', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { store, clock, keptMs } = live(drawn);
        clock.now += keptMs + 0.01;
        expect(store.used(KEY)).toEqual({ requests: 0, tokens: 0 });
      }),
    );
  });
});

test('a correction upwards counts at once and takes the room of those who come next', () => {
  const store = new MemoryRateStore({ windowMs: 60_000, marginMs: 0 }, () => 0);
  const limits = { requests: undefined, tokens: 100 };
  const reserved = store.reserve(KEY, 10, limits);
  if (!('reservation' in reserved)) throw new Error('there was room');
  store.settle(KEY, reserved.reservation, 95);
  expect(store.reserve(KEY, 10, limits)).toEqual({ waitMs: 61_000 });
  expect(store.reserve(KEY, 5, limits)).toHaveProperty('reservation');
});

test('a clock that is set back makes nobody wait longer', () => {
  const wallClock = vi.spyOn(Date, 'now');
  const store = new MemoryRateStore({ windowMs: 60_000, marginMs: 0 });
  const limits = { requests: 1, tokens: undefined };
  store.reserve(KEY, 1, limits);
  wallClock.mockReturnValue(Date.now() - 3_600_000);
  const reserved = store.reserve(KEY, 1, limits);
  wallClock.mockRestore();
  if (!('waitMs' in reserved)) throw new Error('there was no room');
  expect(reserved.waitMs).toBeLessThanOrEqual(61_000);
});
