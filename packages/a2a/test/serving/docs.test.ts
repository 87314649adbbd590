// docs/a2a.md: each "yes" of the comparison names a test.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const docs = new URL('../../../../docs/', import.meta.url);

test('each yes in docs/a2a.md names a test', () => {
  const [, comparison = ''] = readFileSync(new URL('a2a.md', docs), 'utf8').split('\n## Compared\n');
  const proofs = [...comparison.matchAll(/\[yes\]\((\S+) "([^"]+)"\)/g)];
  expect(proofs.length).toBe(comparison.match(/^\| [^|]+ \| \[?yes\b/gm)?.length);
  expect(proofs.length).toBeGreaterThan(10);
  const isTest = ([, file = '', title = '']: string[]) =>
    readFileSync(new URL(file, docs), 'utf8').includes(`'${title}'`);
  expect(proofs.filter((proof) => !isTest(proof)).map(([link]) => link)).toEqual([]);
});
