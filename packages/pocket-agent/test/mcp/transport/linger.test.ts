// Waiting awake, by a clock and an event loop that the test moves.
import { beforeEach, expect, test, vi } from 'vitest';
import { Linger } from '../../../src/mcp/wire/linger.ts';

let now = 1_000;
let looks: (() => void)[] = [];

beforeEach(() => {
  looks = [];
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  vi.stubGlobal('setImmediate', (look: () => void) => void looks.push(look));
  return () => {
    vi.restoreAllMocks();
    vi.unstubAllGlobals();
  };
});

/** One turn of the event loop; whether there will be another without something to wake it. */
function turnAfter(ms: number): boolean {
  now += ms;
  for (const look of looks.splice(0)) look();
  return looks.length > 0;
}

test('sleeps at once after messages that come alone', () => {
  const linger = new Linger();
  for (let count = 0; count < 3; count++) {
    linger.heard();
    expect(turnAfter(0.2)).toBe(false);
    now += 0.2;
  }
});

test('stays awake for a moment after one that came right after the last was dealt with', () => {
  const linger = new Linger();
  linger.heard();
  turnAfter(0.2);
  now += 0.03;
  linger.heard();
  expect(turnAfter(0.2)).toBe(true); // what it takes to deal with it does not count
  expect(turnAfter(0.03)).toBe(true);
  expect(turnAfter(0.03)).toBe(false);
});

test('stays awake as long as they go on, by one look at a time', () => {
  const linger = new Linger();
  linger.heard();
  linger.heard(); // before the first was dealt with
  for (let count = 0; count < 10; count++) {
    expect(turnAfter(0.04)).toBe(true);
    expect(looks).toHaveLength(1);
    linger.heard();
  }
  turnAfter(0.04);
  expect(turnAfter(0.06)).toBe(false);
});
