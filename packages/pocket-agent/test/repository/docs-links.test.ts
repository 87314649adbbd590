// Checks links and script names in the documentation, and that its pages are listed.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { anchorsOf, isExternal, linksOf } from '../../../../scripts/docs/markdown.ts';
import { pagePath, sidebar } from '../../../../scripts/docs/sidebar.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
/** The scripts of this repository, and of the projects that `pocket-agent new` creates. */
const scripts: Record<string, string> = Object.assign(
  {},
  ...['package.json', ...globSync('packages/cli/templates/*/package.json', { cwd: root })].map(
    (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).scripts,
  ),
);
const pages = globSync(
  ['*.md', '.github/**/*.md', 'bench/*.md', 'docs/**/*.md', 'packages/cli/templates/*/README.md'],
  { cwd: root },
);

test.each(pages)('%s links only to existing files and headings, and names only existing scripts', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = linksOf(text).map(({ target }) => target);
  expect(links.filter((link) => !isExternal(link)).filter((link) => !leadsSomewhere(link, page))).toEqual([]);
  const named = [...text.matchAll(/npm run (?:--silent )?([a-z0-9:-]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

test('every page is in the sidebar of the site and in the list of the README, and the sidebar names only files', () => {
  const listed = Object.values(sidebar).flatMap((files) => Object.keys(files));
  const docs = globSync('docs/*.md', { cwd: root });
  expect(docs.filter((page) => !listed.includes(page))).toEqual([]);
  expect(listed.filter((file) => !existsSync(join(root, file)) || pagePath(file) === undefined)).toEqual([]);
  const readme = linksOf(readFileSync(join(root, 'README.md'), 'utf8')).map(({ target }) => target);
  expect(docs.filter((page) => !readme.includes(page))).toEqual([]);
});

function leadsSomewhere(link: string, page: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? join(root, page) : join(root, dirname(page), path);
  return existsSync(file) && (heading === undefined || anchorsOf(readFileSync(file, 'utf8')).includes(heading));
}
