// Compares the public names with the documentation: exports, options, events, error codes and command-line flags.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const REFERENCE = 'docs/reference.md';

const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** Public entry points. Other packages (kit, http, schema) and `pocket-agent/internal` are for this repository only. */
const entries: Record<string, string> = {
  'pocket-agent': 'packages/pocket-agent/src/index.ts',
  'pocket-agent/testing': 'packages/pocket-agent/src/testing.ts',
  '@pocket-agent/a2a': 'packages/a2a/src/index.ts',
  '@pocket-agent/a2a/client': 'packages/a2a/src/client/index.ts',
  '@pocket-agent/store': 'packages/store/src/index.ts',
  '@pocket-agent/redis': 'packages/redis/src/index.ts',
  '@pocket-agent/tool-folder': 'packages/tool-folder/src/index.ts',
  '@pocket-agent/mattermost': 'packages/mattermost/src/index.ts',
  '@pocket-agent/mattermost/bot': 'packages/mattermost/src/bot/index.ts',
  '@pocket-agent/agent3': 'packages/agent3/src/index.ts',
  '@pocket-agent/discord': 'packages/discord/src/index.ts',
};

interface Export {
  name: string;
  isType: boolean;
  /** Where it is declared; undefined for packages of others. */
  file?: string;
  /** The first sentence of its comment. */
  about: string;
}

const declarations = /^export (?:declare )?(?:abstract )?(?:async )?(class|const|function|interface|type) (\w+)/gm;

/** Everything that a module exports, here or by passing it on. */
function exportsOf(file: string): Export[] {
  const text = read(file);
  const own = [...text.matchAll(declarations)].map(([, kind, name = '']) => declared(file, name, isTypeKind(kind)));
  const lists = [...text.matchAll(/^export (type )?\{([^}]*)\}(?: from '([^']+)')?/gm)];
  const passedOn = lists.flatMap(([, type, names = '', from]) =>
    names
      .split(',')
      .map((entry) => entry.trim())
      .filter(Boolean)
      .map((entry) => {
        const [original = '', name = original] = entry.replace(/^type /, '').split(' as ');
        const isType = type !== undefined || entry.startsWith('type ');
        const source = from === undefined ? file : moduleOf(from, file);
        const found = source === undefined ? { name, isType, about: '' } : declared(source, original, isType);
        return { ...found, name };
      }),
  );
  return [...own, ...passedOn];
}

function isTypeKind(kind: string | undefined): boolean {
  return kind === 'interface' || kind === 'type';
}

/** Undefined for packages of others. */
function moduleOf(specifier: string, from: string): string | undefined {
  if (specifier.startsWith('.')) return join(dirname(from), specifier);
  const [, shared] = /^@pocket-agent\/(kit|schema)$/.exec(specifier) ?? [];
  return shared === undefined ? entries[specifier] : `packages/${shared}/src/index.ts`;
}

function declared(file: string, name: string, isType: boolean): Export {
  const text = read(file);
  const kinds = '(?:declare )?(?:abstract )?(?:async )?(?:class|const|function|interface|type)';
  const place = new RegExp(`(?:/\\*\\*((?:(?!\\*/)[^])*)\\*/\\n)?^(?:export )?${kinds} ${name}\\b`, 'm').exec(text);
  if (place) {
    const isClass = /class \w+$/.test(place[0]);
    const about = firstSentence(place[1] ?? '') || codesText(file, name) || (isClass ? aboutFile(text, name) : '');
    return { name, isType, file, about };
  }
  const [, from] = new RegExp(`^export (?:type )?\\{[^}]*\\b${name}\\b[^}]*\\} from '([^']+)'`, 'm').exec(text) ?? [];
  const next = from === undefined ? undefined : moduleOf(from, file);
  return next === undefined ? { name, isType, about: '' } : declared(next, name, isType);
}

function firstSentence(comment: string): string {
  const text = comment
    .replace(/^\s*\*? ?/gm, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
}

/** The first comment of a file says what its class is. */
function aboutFile(text: string, name: string): string {
  const [comment = ''] = /^(?:\/\/ .*\n)+/.exec(text) ?? [];
  const about = firstSentence(comment.replace(/^\/\/ /gm, '')).replace(`${name}: `, '');
  return about === `${name}.` ? '' : about.replace(/^./, (letter) => letter.toUpperCase());
}

function codesText(file: string, name: string): string {
  return name.endsWith('ErrorCode')
    ? codesIn(file)
        .map((code) => `\`${code}\``)
        .join(', ')
    : '';
}

/** The values of an exported union of error codes. */
function codesIn(file: string): string[] {
  const [, union = ''] = /type \w+ErrorCode =((?:\s*\|? *'[A-Z_]+')+)/.exec(read(file)) ?? [];
  return union.match(/[A-Z_]+/g) ?? [];
}

function sectionOf(name: string, file: string): string {
  const all = exportsOf(file).sort((one, other) => (one.name.toLowerCase() < other.name.toLowerCase() ? -1 : 1));
  const line = ({ name, about }: Export) => `- \`${name}\`${about ? `: ${about}` : ''}`;
  const values = all.filter(({ isType }) => !isType);
  const types = all.filter(({ isType }) => isType);
  const others = types.filter(({ about }) => !about).map(({ name }) => `\`${name}\``);
  return [
    `## ${name}`,
    '',
    ...values.map(line),
    ...(types.length > 0 ? ['', 'Types:', '', ...types.filter(({ about }) => about).map(line)] : []),
    ...(others.length > 0 ? [`- ${others.join(', ')}`] : []),
    '',
  ].join('\n');
}

test(`${REFERENCE} lists every public export`, async () => {
  const intro = `# Reference

The public names of each package, with the first sentence of their comments. Types in your editor say the rest; the other
pages explain how the names are used. Delete this page and run \`npm test docs-coverage\` to write it again.
`;
  const sections = Object.entries(entries).map(([name, file]) => sectionOf(name, file));
  const page = [intro, ...sections].join('\n');
  // a changed comment is no reason to fail
  const namesIn = (text: string) => text.match(/^## .*|(?<=^- |, )`\w+`/gm);
  const current = existsSync(join(root, REFERENCE)) ? read(REFERENCE) : '';
  const isSame = JSON.stringify(namesIn(page)?.sort()) === JSON.stringify(namesIn(current)?.sort());
  if (!isSame) await expect(page).toMatchFileSnapshot(join(root, REFERENCE));
});

const pages = globSync(['README.md', 'docs/*.md'], { cwd: root }).filter((page) => page !== REFERENCE);
const text = pages.map(read).join('\n');
/** Names count where they are written as code. */
const code = [...text.matchAll(/```.*?```|`[^`\n]+`/gs)].map(([part]) => part).join('\n');
const words = new Set(code.match(/--[a-z][a-z-]*|[\w$]+(?:-\w+)*/g));
const missing = (names: Iterable<string>) => [...new Set(names)].filter((name) => !words.has(name));

const sources = globSync('packages/*/src/**/*.ts', { cwd: root });

/** The keys of each interface of a file, by its name. */
function interfacesIn(file: string): Map<string, string[]> {
  const all = read(file).matchAll(
    /^(?:export )?(?:interface|class) (\w+)(?:<[^{]*?>)?(?: (?:extends|implements) [^{]+)? \{\n(.*?)^\}/gms,
  );
  return new Map([...all].map(([, name = '', body = '']) => [name, keysIn(body)]));
}

function keysIn(body: string): string[] {
  return [...body.matchAll(/^ {2}(?:readonly )?(\w+)\??(?:<[^(]*>)?[:(]/gm)].map(([, key = '']) => key);
}

test('every option is documented', () => {
  const libraries = Object.entries(entries).filter(([name]) =>
    /^(pocket|.*\/(a2a|store|redis|tool-folder)$)/.test(name),
  );
  const exported = libraries.flatMap(([, file]) => exportsOf(file));
  const options = exported.filter(({ name }) => /Options|Config|Limits|Settings$/.test(name));
  const undocumented = options.flatMap(({ name, file }) =>
    missing((file && interfacesIn(file).get(name)) || []).map((key) => `${name}.${key}`),
  );
  expect(undocumented).toEqual([]);
  for (const file of ['pocket-agent/src/agent/agent-config.ts', 'cli/src/setup/agent-file.ts']) {
    const keys = [...interfacesIn(`packages/${file}`).values()].flat();
    expect(keys.length, file).toBeGreaterThan(10);
    expect(missing(keys), file).toEqual([]);
  }
});

test('every event and hook is documented', () => {
  const events = interfacesIn('packages/pocket-agent/src/run/events.ts').get('EventData') ?? [];
  const hooks = interfacesIn('packages/pocket-agent/src/agent/hooks.ts').get('AgentHooks') ?? [];
  expect(Math.min(events.length, hooks.length)).toBeGreaterThan(5);
  expect(missing([...events, ...hooks])).toEqual([]);
});

test('every error code of the library and the store is documented', () => {
  const codes = ['packages/kit/src/errors.ts', 'packages/store/src/store-error.ts'].flatMap(codesIn);
  expect(codes.length).toBeGreaterThan(20);
  expect(missing(codes)).toEqual([]);
});

test('every flag in the help of a command is documented', () => {
  const help = sources.filter((file) => /help|command-line|commands\//.test(file) && !file.startsWith('packages/kit/'));
  const flags = help.flatMap((file) => read(file).match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []);
  expect(flags.length).toBeGreaterThan(20);
  expect(missing(flags)).toEqual([]);
});
