// Checks links and script names in the documentation.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
/** The scripts of this repository, and of the projects that `pocket-agent new` creates. */
const scripts: Record<string, string> = Object.assign(
  {},
  ...['package.json', ...globSync('packages/cli/templates/*/package.json', { cwd: root })].map(
    (file) => JSON.parse(readFileSync(join(root, file), 'utf8')).scripts,
  ),
);
const pages = [
  'README.md',
  'AGENTS.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'bench/README.md',
  ...globSync('docs/**/*.md', { cwd: root }),
];

test.each(pages)('%s links only to existing files and headings, and names only existing scripts', (page) => {
  const text = readFileSync(join(root, page), 'utf8');
  const links = [...text.matchAll(/\]\((?!https?:|mailto:)([^)]+)\)/g)].map(([, link = '']) => link);
  expect(links.filter((link) => !leadsSomewhere(link, page))).toEqual([]);
  const named = [...text.matchAll(/npm run (?:--silent )?([a-z0-9:-]+)/g)].map(([, name = '']) => name);
  expect(named.filter((name) => !Object.hasOwn(scripts, name))).toEqual([]);
});

function leadsSomewhere(link: string, page: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? join(root, page) : join(root, dirname(page), path);
  return existsSync(file) && (heading === undefined || headingsOf(file).includes(heading));
}

/** The headings of a page, as GitHub writes them in links. */
function headingsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8').replace(/^```.*?^```/gms, '');
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}
