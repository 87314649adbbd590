// docs/behaviour.md lists the current behaviours and frameworks.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { behaviours } from '../behaviour/behaviours.ts';
import { packagesOf, peers, us } from '../contenders/contenders.ts';

const page = readFileSync(new URL('../../docs/behaviour.md', import.meta.url), 'utf8');

test('every behaviour has a row, and Pocket Agent has all of them', () => {
  const [head, , ...rows] = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.slice(2, -2).split(' | '));
  expect(head).toEqual(['', us, ...peers]);
  expect(rows.map(([title, ours]) => [title, ours])).toEqual(
    Object.values(behaviours).map(({ title }) => [title, 'yes']),
  );
});

test('the page names the versions that a run installs', () => {
  for (const version of peers.flatMap(packagesOf)) expect(page).toContain(version);
});
