// Numbers and their things.
import { expect, test } from 'vitest';
import { Numbered } from '../src/numbered.ts';

test('gives no number twice, however long some of its things stay', () => {
  const numbered = new Numbered<{ name: string }>(7);
  const stays = Array.from({ length: 20 }, (_, index) => ({ name: `stays ${index}` }));
  const numbers = stays.map((thing) => numbered.add(thing));
  const given = new Set(numbers);
  for (let count = 0; count < 1_000; count++) {
    const passing = { name: 'passes' };
    const number = numbered.add(passing);
    expect(given).not.toContain(number);
    given.add(number);
    expect(numbered.take(number)).toBe(passing);
  }
  expect(numbers.map((number) => numbered.get(number))).toEqual(stays);
  expect(numbered.size).toBe(20);
});

test('lists its things from the oldest to the newest', () => {
  const numbered = new Numbered<{ name: string }>(6);
  const names = ['oldest', 'older', 'newer', 'newest'];
  for (const name of names) numbered.add({ name });
  expect(numbered.list().map(({ name }) => name)).toEqual(names);
});

test('has nothing under a number that was never given, was taken or is none', () => {
  const numbered = new Numbered<object>(10);
  const number = numbered.add({});
  numbered.take(number);
  numbered.add({});
  for (const stranger of [number, number + 8, -1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])
    expect(numbered.take(stranger)).toBeUndefined();
  expect(numbered.size).toBe(1);
  numbered.clear();
  expect(numbered.list()).toEqual([]);
});
