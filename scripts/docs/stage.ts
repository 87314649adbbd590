// Writes the pages of the site: the Markdown of this repository with adapted links, lists of decisions and examples, and the
// reference.
import assert from 'node:assert/strict';
import { cpSync, existsSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, normalize, posix } from 'node:path';
import { root } from '../workspaces.ts';
import { descriptionOf, titleOf, withLinks } from './markdown.ts';
import { publicEntries } from './public-names.ts';
import { referencePages, referencePath } from './reference.ts';
import { pagePath, sidebar } from './sidebar.ts';

interface SidebarGroup {
  text: string;
  items: { text: string; link: string }[];
}

/** Writes all pages to `into`, and the data for the configuration of the site to `site.json`. */
export function stagePages(into: string): void {
  rmSync(into, { recursive: true, force: true });
  const reference = referencePages();
  const pages = new Map([...sourcePages(into), ...reference.pages]);
  pages.set('reference.md', `${pages.get('reference.md')}\n${reference.index}`);
  for (const [path, text] of pages) {
    const file = join(into, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, withDescription(text));
  }
  cpSync(join(root, 'site/index.md'), join(into, 'index.md'));
  cpSync(join(root, 'site/public'), join(into, 'public'), { recursive: true });
  writeLlmsTexts(pages, join(into, 'public'));
  writeFileSync(join(into, 'site.json'), JSON.stringify({ sidebar: groups() }));
}

/** The groups of the sidebar, including the modules of the reference. */
export function groups(): SidebarGroup[] {
  const listed = Object.entries(sidebar).map(([text, files]) => ({
    text,
    items: Object.entries(files).map(([file, label]) => ({ text: label, link: `/${pagePath(file)}` })),
  }));
  const modules = [...publicEntries('types').keys()].map((entry) => ({
    text: entry,
    link: `/${referencePath(entry)}`,
  }));
  listed.at(-1)?.items.push(...modules);
  return listed;
}

function sourcePages(into: string): [string, string][] {
  const listed = Object.values(sidebar).flatMap((files) => Object.keys(files));
  const decisions = globSync('docs/decisions/*.md', { cwd: root }).sort();
  const examples = globSync('examples/*.ts', { cwd: root }).sort();
  const files = [...new Set([...listed.filter((file) => file.endsWith('.md')), ...decisions])];
  return [
    ...files.map((file): [string, string] => [`${pagePath(file)}.md`, sitePage(file, into)]),
    ...examples.map((file): [string, string] => [`${pagePath(file)}.md`, examplePage(file)]),
    [
      'decisions/index.md',
      `# Decisions\n\nWhat was decided, and why.\n\n${listOf(decisions, (file) => titleOf(read(file)))}`,
    ],
    [
      'examples/index.md',
      `# Examples\n\nComplete programs that check their own result. All run in CI.\n\n${listOf(examples, aboutExample)}`,
    ],
  ];
}

const read = (file: string) => readFileSync(join(root, file), 'utf8');

function listOf(files: readonly string[], about: (file: string) => string): string {
  return files.map((file) => `- [${about(file)}](${posix.basename(`${pagePath(file)}.md`)})\n`).join('');
}

/** The first comment of an example says what it shows. */
function aboutExample(file: string): string {
  const [comment = ''] = /^(?:\/\/ .*\n)+/.exec(read(file)) ?? [];
  return comment
    .replace(/^\/\/ /gm, '')
    .replace(/\s+/g, ' ')
    .trim();
}

function examplePage(file: string): string {
  const name = posix.basename(file, '.ts').replace(/^\d+-/, '').replaceAll('-', ' ');
  const code = read(file).replace(/^(?:\/\/ .*\n)+/, '');
  return `# Example: ${name}\n\n${aboutExample(file)}\n\n\`\`\`ts\n${code}\`\`\`\n`;
}

function sitePage(file: string, into: string): string {
  const page = pagePath(file) ?? assert.fail(`${file} is not a page.`);
  return withLinks(read(file), ({ target, isImage }) => {
    const [path = '', anchor] = target.split('#');
    const hash = anchor === undefined ? '' : `#${anchor}`;
    if (path === '') return target;
    const source = normalize(join(dirname(file), path)).replace(/\/$/, '');
    assert.ok(existsSync(join(root, source)), `${file} links to ${target}, which does not exist.`);
    if (isImage) {
      cpSync(join(root, source), join(into, dirname(page), posix.basename(source)));
      return `./${posix.basename(source)}`;
    }
    const linked = pagePath(source);
    return linked === undefined ? undefined : `${posix.relative(dirname(page), `${linked}.md`)}${hash}`;
  });
}

function withDescription(text: string): string {
  const line = `description: ${JSON.stringify(descriptionOf(text))}\n`;
  return text.startsWith('---\n') ? text.replace('---\n', `---\n${line}`) : `---\n${line}---\n${text}`;
}

/** Writes the site for language models: a list of its pages, and all pages in one file. https://llmstxt.org */
function writeLlmsTexts(pages: ReadonlyMap<string, string>, into: string): void {
  const lines = groups().flatMap(({ text, items }) => [
    `\n## ${text}\n`,
    ...items.map((item) => {
      const page = pages.get(`${item.link.slice(1)}.md`) ?? assert.fail(`There is no page ${item.link}.`);
      return `- [${item.text}](${item.link.slice(1)}.md): ${descriptionOf(page) || titleOf(page)}`;
    }),
  ]);
  const summary = descriptionOf(read('README.md'));
  writeFileSync(join(into, 'llms.txt'), `# Pocket Agent\n\n> ${summary}\n${lines.join('\n')}\n`);
  const all = [...pages].map(([path, text]) => `<!-- ${path} -->\n\n${text.trim()}\n`);
  writeFileSync(join(into, 'llms-full.txt'), all.join('\n'));
}
