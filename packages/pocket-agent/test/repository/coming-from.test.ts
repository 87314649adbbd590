// The pages for people who come from other frameworks name what exists today.
import { globSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const WORD = /[A-Za-z_$][\w$]{2,}/g;

/** Names of examples, and of other packages. */
const others = new Set([
  ...['MyAgent', 'CustomHooks', 'multiplicand', 'multiplier', 'tool_multiply', 'orderId', 'isSafeReader'],
  ...['wrapLanguageModel', 'cacheControl', 'INPUT_REQUIRED', 'Accept', 'Encoding', 'is_error'],
]);

const sources = globSync(['packages/*/{src,templates}/**/*.{ts,json,yaml,md}', 'packages/*/package.json'], {
  cwd: root,
});
const known = new Set(sources.flatMap((file) => readFileSync(join(root, file), 'utf8').match(WORD) ?? []));
const pages = globSync('docs/from-*.md', { cwd: root });

test('there is a page for each framework', () => {
  expect(pages.map((page) => basename(page, '.md').slice('from-'.length)).sort()).toEqual(
    ['agent3-seed', 'ai-sdk', 'jakeybot', 'langchain', 'mastra', 'mattermost-python', 'openai-agents', 'python'].sort(),
  );
});

test.each(pages)('every name of ours in the tables of %s is in the sources', (page) => {
  const rows = readFileSync(join(root, page), 'utf8')
    .split('\n')
    .filter((line) => line.startsWith('| '));
  const names = rows.flatMap((row) => {
    const [, , ours = ''] = row.replaceAll('\\|', ' ').split('|');
    const code = [...ours.matchAll(/`([^`]+)`/g)].map(([, text = '']) => text.replace(/'[^']*'|"[^"]*"/g, ''));
    return code.flatMap((text) => text.match(WORD) ?? []);
  });
  expect(names.length).toBeGreaterThan(10);
  expect([...new Set(names)].filter((name) => !known.has(name) && !others.has(name))).toEqual([]);
});
