// Whether the page of the documentation is of the behaviours and peers there are.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { behaviours } from '../behaviour/behaviours.ts';
import { packagesOf, peers, us } from '../contenders.ts';

const page = readFileSync(new URL('../../docs/behaviour.md', import.meta.url), 'utf8');

test('every behaviour has a row, in which ours is yes', () => {
  const [head, , ...rows] = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.slice(2, -2).split(' | '));
  expect(head).toEqual(['', us, ...peers]);
  expect(rows.map(([title, ours]) => [title, ours])).toEqual(
    Object.values(behaviours).map(({ title }) => [title, 'yes']),
  );
});

test('the versions are those that are installed for a run', () => {
  for (const version of peers.flatMap(packagesOf)) expect(page).toContain(version);
});
