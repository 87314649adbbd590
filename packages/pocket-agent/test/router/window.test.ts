import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import { type RateLimits, RateWindow, type Reservation, WindowShape } from '../../src/router/rate-window.ts';

// The rate window keeps its limits in any sequence of calls, corrections and waits.

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

/** Plays a world in two windows, which see the same. */
function live({ windowMs, marginMs, start, requests, tokens, steps }: World) {
  const shape = new WindowShape({ windowMs, marginMs });
  const limits: RateLimits = { requests, tokens };
  const clock = { now: start };
  const window = new RateWindow(shape, () => clock.now);
  const twin = new RateWindow(shape, () => clock.now);
  const grants: Grant[] = [];
  const most = tokens ?? 1_000;
  const reserve = (amount: number) => {
    const reserved = window.reserve(amount, limits);
    expect(twin.reserve(amount, limits)).toEqual(reserved);
    if ('reservation' in reserved) grants.push({ at: clock.now, tokens: amount, reservation: reserved.reservation });
    return reserved;
  };
  for (const { kind, share } of steps) {
    if (kind === 'pass') clock.now += Math.round(share * windowMs);
    if (kind === 'reserve') reserve(Math.round(share * most));
    if (kind === 'burst') for (let call = 0; call < 10; call++) reserve(Math.round(share * most));
    if (kind === 'patient') {
      // asks again at the very moment it was told, the edge of the window
      const reserved = reserve(Math.round(share * most));
      if ('waitMs' in reserved) {
        clock.now += reserved.waitMs;
        reserve(Math.round(share * most));
      }
    }
    const grant = grants[Math.floor(share * grants.length)];
    if (kind !== 'settle' || !grant) continue;
    const less = Math.round(grant.tokens * share);
    for (const each of [window, twin]) each.settle(grant.reservation, less);
    grant.reservation = { ...grant.reservation, tokens: less };
    grant.tokens = less;
  }
  return { shape, spanMs: windowMs + marginMs, limits, clock, window, twin, grants, most };
}

describe('over any sequence of calls, corrections and waits', () => {
  test('no window exceeds its limits, even if calls arrive late by the margin', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { grants, spanMs, limits } = live(drawn);
        for (const [index, { at }] of grants.entries()) {
          const within = grants.slice(index).filter((other) => other.at - at <= spanMs);
          expect(within.length).toBeLessThanOrEqual(limits.requests ?? Number.POSITIVE_INFINITY);
          const tokens = within.reduce((sum, grant) => sum + grant.tokens, 0);
          expect(tokens).toBeLessThanOrEqual(limits.tokens ?? Number.POSITIVE_INFINITY);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('a call that waits as long as it was told gets its place, and not a moment sooner', () => {
    fc.assert(
      fc.property(world, fc.double({ min: 0, max: 1, noNaN: true }), (drawn, share) => {
        const { window, twin, clock, limits, most, shape } = live(drawn);
        const amount = Math.round(share * most);
        const reserved = window.reserve(amount, limits);
        if ('reservation' in reserved) return;
        const { waitMs } = reserved;
        expect(waitMs).toBeGreaterThan(0);
        expect(waitMs).toBeLessThanOrEqual(shape.keptMs + 0.01);
        const asked = clock.now;
        clock.now = asked + waitMs - 1.01; // no wait is shorter than a millisecond
        if (clock.now > asked) expect(twin.reserve(amount, limits)).toHaveProperty('waitMs');
        // a clock counts in fractions that do not add up to the last digit
        clock.now = asked + waitMs + 0.01;
        expect(window.reserve(amount, limits)).toHaveProperty('reservation');
      }),
      { numRuns: 500 },
    );
  });

  test('a higher count of the provider takes room away until the reset it reported, at most one slot longer', () => {
    const count = fc.record({
      requests: fc.option(fc.integer({ min: 0, max: 60 }), { nil: undefined }),
      tokens: fc.option(fc.integer({ min: 0, max: 200_000 }), { nil: undefined }),
      resetMs: fc.integer({ min: 0, max: 240_000 }),
    });
    fc.assert(
      fc.property(world, count, (drawn, provider) => {
        const { window, twin, clock, limits, shape } = live(drawn);
        const raised = clock.now;
        const before = twin.total();
        window.raise(provider);
        const after = window.total();
        expect(after.requests).toBe(Math.max(before.requests, provider.requests ?? 0));
        expect(after.tokens).toBe(Math.max(before.tokens, provider.tokens ?? 0));
        const lastsMs = Math.min(provider.resetMs, shape.windowMs);
        clock.now = raised + Math.max(0, lastsMs - 0.01);
        const [raisedUse, plainUse] = [window.total(), twin.total()];
        expect(raisedUse.requests - plainUse.requests).toBe(after.requests - before.requests);
        expect(raisedUse.tokens - plainUse.tokens).toBe(after.tokens - before.tokens);
        clock.now = raised + lastsMs + shape.slotMs + 0.01;
        expect(window.total()).toEqual(twin.total());
        expect(window.reserve(1, limits)).toEqual(twin.reserve(1, limits));
      }),
      { numRuns: 500 },
    );
  });

  test('a window that was not used for long enough is empty', () => {
    fc.assert(
      fc.property(world, (drawn) => {
        const { window, clock, shape } = live(drawn);
        clock.now += shape.keptMs + 0.01;
        expect(window.total()).toEqual({ requests: 0, tokens: 0 });
      }),
    );
  });
});

test('a correction upwards immediately takes the room of the next calls', () => {
  const window = new RateWindow(new WindowShape({ windowMs: 60_000, marginMs: 0 }), () => 0);
  const limits = { requests: undefined, tokens: 100 };
  const reserved = window.reserve(10, limits);
  if (!('reservation' in reserved)) throw new Error('there was room');
  window.settle(reserved.reservation, 95);
  expect(window.reserve(10, limits)).toEqual({ waitMs: 61_000 });
  expect(window.reserve(5, limits)).toHaveProperty('reservation');
});

test('setting the system clock back does not make calls wait longer', () => {
  const wallClock = vi.spyOn(Date, 'now');
  const window = new RateWindow(new WindowShape({ windowMs: 60_000, marginMs: 0 }));
  const limits = { requests: 1, tokens: undefined };
  window.reserve(1, limits);
  wallClock.mockReturnValue(Date.now() - 3_600_000);
  const reserved = window.reserve(1, limits);
  wallClock.mockRestore();
  if (!('waitMs' in reserved)) throw new Error('there was no room');
  expect(reserved.waitMs).toBeLessThanOrEqual(61_000);
});
