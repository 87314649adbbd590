// The order of contenders in each round of a run.
import { expect, test } from 'vitest';
import { orderOf } from '../measuring/order.ts';

const names = [...'abcdefghi'];
const rounds = [0, 1, 2].map((round) => orderOf(names, round));

test('each round contains every contender once', () => {
  for (const order of rounds) expect(order.toSorted()).toEqual(names);
});

test('each round starts with a different contender', () => {
  expect(new Set(rounds.map(([first]) => first)).size).toBe(rounds.length);
});

test('no contender has the same predecessor in two rounds', () => {
  const pairs = rounds.flatMap((order) => order.map((name, index) => `${order.at(index - 1)}${name}`));
  expect(new Set(pairs).size).toBe(rounds.length * names.length);
});

test.each([1, 2, 3, 4, 6])('with %i contenders, every round has all of them, even if orders repeat', (count) => {
  const few = names.slice(0, count);
  for (let round = 0; round < 5; round++) expect(orderOf(few, round).toSorted()).toEqual(few);
});
