// Checks links and script names in the documentation.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
const pages = ['README.md', 'AGENTS.md', 'CONTRIBUTING.md', ...globSync('docs/**/*.md', { cwd: root })];

test.each(pages)('%s links only to existing files and names only existing scripts', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:|#|mailto:)([^)#]+)/g)].map(([, path = '']) => path);
  expect(links.filter((path) => !existsSync(join(root, dirname(page), path)))).toEqual([]);
  const named = [...text.matchAll(/npm run (?:--silent )?([a-z0-9:-]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});
