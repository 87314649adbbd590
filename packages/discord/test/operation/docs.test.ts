// The table of features in docs/discord.md: each feature of this bot names the test that shows it.
import { existsSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const docs = new URL('../../../../docs/discord.md', import.meta.url);

test('each feature in the table of docs/discord.md names a test', () => {
  const [, section = ''] = readFileSync(docs, 'utf8').split('\n## Compared\n');
  const rows = section.split('\n').filter((line) => line.startsWith('| ') && !line.startsWith('| feature'));
  const tests = rows.map((row) => ({ row, file: /\[yes\]\(\.\.\/(packages\/discord\/test\/[^)]+)\)/.exec(row)?.[1] }));
  expect(tests.length).toBeGreaterThan(20);
  const missing = tests.filter(({ row, file }) => {
    if (file === undefined) return !/^\|[^|]+\| no/.test(row);
    return !existsSync(new URL(`../../../../${file}`, import.meta.url));
  });
  expect(missing).toEqual([]);
});
