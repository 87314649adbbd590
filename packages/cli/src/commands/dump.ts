// The command `pocket-agent dump`: documentation and source of the library as one Markdown document.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorText, PocketError, VERSION } from '@pocket-agent/kit';
import { readArguments } from '../command-line/arguments.ts';
import { plural } from '../terminal/usage-line.ts';

interface DumpedFile {
  /** The path relative to the root, with slashes. */
  name: string;
  text: string;
}

export async function command(args: readonly string[]): Promise<number> {
  const boolean = { type: 'boolean', default: false } as const;
  const { values, positionals } = readArguments(args, { 'docs-only': boolean, 'source-only': boolean });
  const [file, ...more] = positionals;
  if (more.length > 0) throw new PocketError('CONFIG_INVALID', 'Give one file: pocket-agent dump FILE.');
  if (values['docs-only'] && values['source-only']) {
    throw new PocketError('CONFIG_INVALID', '--docs-only and --source-only exclude each other.');
  }
  const library = dirname(fileURLToPath(import.meta.resolve('pocket-agent/package.json')));
  const docs = values['source-only'] ? [] : documentation(fileURLToPath(new URL('../..', import.meta.url)));
  const source = values['docs-only'] ? [] : sources(library);
  if (docs.length + source.length === 0) {
    throw new PocketError('CONFIG_INVALID', `There is nothing to dump in ${library}: reinstall pocket-agent.`);
  }
  const text = dumpText(docs, source);
  if (file === undefined) await writeOut(text);
  else await writeTo(file, text);
  return 0;
}

async function writeTo(file: string, text: string): Promise<void> {
  try {
    await writeFile(file, text);
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `${file} cannot be written: ${errorText(error)}`, { cause: error });
  }
  process.stderr.write(`${file}: ${plural(Buffer.byteLength(text), 'byte')}\n`);
}

/** Waits until a slow reader of a pipe has taken everything. */
async function writeOut(text: string): Promise<void> {
  await new Promise<void>((resolve, reject) =>
    process.stdout.write(text, (error) => (error ? reject(error) : resolve())),
  );
}

/** In the repository the documentation is beside the packages; the published package includes it. */
function documentation(root: string): DumpedFile[] {
  const repository = dirname(dirname(root.replace(/[\\/]$/, '')));
  const isRepository =
    basename(dirname(root.replace(/[\\/]$/, ''))) === 'packages' && existsSync(join(repository, 'docs'));
  const base = isRepository ? repository : root;
  const readme = existsSync(join(base, 'README.md')) ? [read(base, 'README.md')] : [];
  return [...readme, ...filesIn(base, 'docs', /\.md$/)];
}

function sources(root: string): DumpedFile[] {
  const written = filesIn(root, 'src', /\.(?:ts|ya?ml)$/);
  return written.length > 0 ? written : filesIn(root, 'dist', /\.js$/);
}

function filesIn(base: string, folder: string, wanted: RegExp): DumpedFile[] {
  if (!existsSync(join(base, folder))) return [];
  return readdirSync(join(base, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => wanted.test(name))
    .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
    .sort()
    .map((name) => read(base, name));
}

function read(base: string, name: string): DumpedFile {
  return { name, text: readFileSync(join(base, name), 'utf8').trimEnd() };
}

function dumpText(docs: readonly DumpedFile[], source: readonly DumpedFile[]): string {
  const all = [...docs, ...source];
  const lines = all.reduce((sum, { text }) => sum + text.split('\n').length, 0);
  const parts = [
    `# Pocket Agent ${VERSION}`,
    `${plural(docs.length, 'page')} of documentation and ${plural(source.length, 'source file')}, ${plural(lines, 'line')}.`,
    '## Contents',
    all.map(({ name }) => `- [${name}](#${anchor(name)})`).join('\n'),
    ...(docs.length > 0 ? ['# Documentation', ...docs.map((file) => `${heading(file)}\n\n${file.text}`)] : []),
    ...(source.length > 0 ? ['# Source', ...source.map((file) => `${heading(file)}\n\n${fenced(file)}`)] : []),
  ];
  return `${parts.join('\n\n')}\n`;
}

function heading({ name }: DumpedFile): string {
  return `<a id="${anchor(name)}"></a>\n\n## ${name}`;
}

function anchor(name: string): string {
  return name.toLowerCase().replace(/[^a-z0-9]+/g, '-');
}

/** Uses a fence longer than any in the text. */
function fenced({ name, text }: DumpedFile): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([fence]) => fence.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${/\.(\w+)$/.exec(name)?.[1] ?? ''}\n${text}\n${fence}`;
}
