// Checks links and script names in the documentation, and that its pages are listed.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
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

test('every page is in the sidebar of the site and in the list of docs/getting-started.md, and the sidebar names only files', () => {
  const listed = Object.values(sidebar).flatMap((files) => Object.keys(files));
  const docs = globSync('docs/*.md', { cwd: root });
  expect(docs.filter((page) => !listed.includes(page))).toEqual([]);
  expect(listed.filter((file) => !existsSync(join(root, file)) || pagePath(file) === undefined)).toEqual([]);
  const list = linksOf(readFileSync(join(root, 'docs/getting-started.md'), 'utf8')).map(({ target }) => target);
  const others = docs.map((page) => basename(page)).filter((page) => page !== 'getting-started.md');
  expect(others.filter((page) => !list.includes(page))).toEqual([]);
});

test('docs/mcp-servers.md shows the server in examples', () => {
  const server = readFileSync(join(root, 'examples/notes-server.ts'), 'utf8');
  expect(readFileSync(join(root, 'docs/mcp-servers.md'), 'utf8')).toContain(`\`\`\`ts\n${server}\`\`\`\n`);
});

test('the figures of the README are those of the benchmark', () => {
  const results = tableRows(readFileSync(join(root, 'bench/RESULTS.md'), 'utf8'));
  const names = results.find((cells) => cells.includes('**pocket-agent**')) ?? [];
  const columns = ['**pocket-agent**', 'ai', 'openai-agents', 'mastra', 'langchain', 'voltagent'];
  const [heading = [], , ...figures] = tableRows(readFileSync(join(root, 'README.md'), 'utf8'));
  expect(heading.slice(1)).toEqual(['Pocket Agent', 'AI SDK', 'OpenAI Agents', 'Mastra', 'LangChain', 'VoltAgent']);
  expect(figures.length).toBeGreaterThan(2);
  for (const [label = '', ...shown] of figures) {
    const row = results.find((cells) => cells[1] === label) ?? [];
    const cells = columns.map((name) => row[names.indexOf(name)] ?? '');
    // in brackets, except for the base of the row
    const measured = cells.map((cell) => (/\(([\d.,]+)\)/.exec(cell) ?? /^([\d.,]+)/.exec(cell))?.[1]);
    expect(shown, label).toEqual(measured);
  }
});

function tableRows(text: string): string[][] {
  const rows = text.split('\n').filter((line) => line.startsWith('|'));
  return rows.map((row) =>
    row
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
}

function leadsSomewhere(link: string, page: string): boolean {
  const [path = '', heading] = link.split('#');
  const file = path === '' ? join(root, page) : join(root, dirname(page), path);
  return existsSync(file) && (heading === undefined || anchorsOf(readFileSync(file, 'utf8')).includes(heading));
}
