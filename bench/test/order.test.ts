// The order of contenders in the rounds of a run.
import { expect, test } from 'vitest';
import { orderOf } from '../order.ts';

const names = [...'abcdefghi'];
const rounds = [0, 1, 2].map((round) => orderOf(names, round));

test('everybody has one turn in every round', () => {
  for (const order of rounds) expect(order.toSorted()).toEqual(names);
});

test('another one is first in every round', () => {
  expect(new Set(rounds.map(([first]) => first)).size).toBe(rounds.length);
});

test('nobody comes after the same one in two rounds', () => {
  const pairs = rounds.flatMap((order) => order.map((name, index) => `${order.at(index - 1)}${name}`));
  expect(new Set(pairs).size).toBe(rounds.length * names.length);
});

test.each([1, 2, 3, 4, 6])('%i are all there, in more rounds than they have orders', (count) => {
  const few = names.slice(0, count);
  for (let round = 0; round < 5; round++) expect(orderOf(few, round).toSorted()).toEqual(few);
});
