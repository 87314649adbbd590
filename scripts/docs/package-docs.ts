// Writes the documentation in the packages: all pages in the library and the command line, their own pages in the others.
import { globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import type { Workspace } from '../workspaces.ts';
import { root } from '../workspaces.ts';
import { titleOf, withLinks } from './markdown.ts';

const ownPages: Record<string, string[]> = {
  '@pocket-agent/a2a': ['a2a'],
  '@pocket-agent/agent3': ['agent3', 'from-agent3-seed'],
  '@pocket-agent/code-mode': ['code-mode'],
  '@pocket-agent/discord': ['discord', 'from-jakeybot'],
  '@pocket-agent/gateway': ['gateway'],
  '@pocket-agent/studio': ['studio'],
  '@pocket-agent/mattermost': ['mattermost', 'mattermost-bot', 'from-mattermost-python'],
  '@pocket-agent/redis': ['models'],
  '@pocket-agent/runs': ['runs'],
  '@pocket-agent/store': ['conversations'],
  '@pocket-agent/tool-folder': ['tool-folders', 'skills'],
  '@pocket-agent/web': ['web-pages'],
};

/** Writes README.md and `docs` of a package. Links to files outside the package become text. */
export function writePackageDocs({ folder, manifest }: Workspace): void {
  rmSync(join(folder, 'docs'), { recursive: true, force: true });
  const all = globSync('docs/*.md', { cwd: root }).sort();
  const isComplete = manifest.name === 'pocket-agent' || manifest.name === '@pocket-agent/cli';
  const pages = isComplete ? all : (ownPages[manifest.name] ?? []).map((page) => `docs/${page}.md`);
  const included = [...pages, 'README.md'];
  for (const page of pages) write(join(folder, page), within(page, included));
  write(join(folder, 'README.md'), isComplete ? within('README.md', included) : readme(manifest, pages));
}

function readme({ name, description }: Workspace['manifest'], pages: readonly string[]): string {
  const links = pages.map((page) => `- [${titleOf(read(page))}](${page})\n`).join('');
  return `# ${name}\n\n${description}. Part of Pocket Agent.\n\n${links}`;
}

function within(page: string, included: readonly string[]): string {
  return withLinks(read(page), ({ target }) => {
    const [path = ''] = target.split('#');
    return path === '' || included.includes(normalize(join(dirname(page), path))) ? target : undefined;
  });
}

const read = (file: string) => readFileSync(join(root, file), 'utf8');

function write(file: string, text: string): void {
  if (basename(dirname(file)) === 'docs') mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, text);
}
