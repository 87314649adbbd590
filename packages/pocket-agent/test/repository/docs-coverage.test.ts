// Compares the public names with the documentation: modules, options, events, error codes and command-line flags.
import { globSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { knownProviders } from 'pocket-agent/internal';
import { expect, test } from 'vitest';
import { publicEntries, publicNames } from '../../../../scripts/docs/public-names.ts';

const root = fileURLToPath(new URL('../../../..', import.meta.url));
const SOURCE = 'pocket-agent/source';

const read = (file: string) => readFileSync(join(root, file), 'utf8');

/** The values of an exported union of error codes. */
function codesIn(file: string): string[] {
  const [, union = ''] = /type \w+ErrorCode =((?:\s*\|? *'[A-Z_]+')+)/.exec(read(file)) ?? [];
  return union.match(/[A-Z_]+/g) ?? [];
}

test('docs/reference.md lists every module that users import from', () => {
  const reference = read('docs/reference.md');
  expect([...publicEntries(SOURCE).keys()].filter((name) => !reference.includes(`\`${name}\``))).toEqual([]);
});

test('every public name, types included, has a comment for the reference', () => {
  const names = [...publicEntries(SOURCE)].flatMap(([entry, file]) =>
    publicNames(file, SOURCE)
      .filter(({ comment }) => !comment)
      .map(({ name }) => `${entry}: ${name}`),
  );
  expect(names).toEqual([]);
});

const pages = globSync(['README.md', 'docs/*.md'], { cwd: root });
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
  const libraries = [...publicEntries(SOURCE)].filter(([name]) =>
    /^(pocket|.*\/(a2a|store|redis|code-mode|runs|tool-folder|gateway|studio|web)$)/.test(name),
  );
  const exported = libraries.flatMap(([, file]) => publicNames(file, SOURCE));
  const options = exported.filter(({ name }) => /Options|Config|Limits|Settings$/.test(name));
  expect(options.length).toBeGreaterThan(20);
  const undocumented = options.flatMap(({ name, file }) =>
    missing(interfacesIn(relative(root, file)).get(name) ?? []).map((key) => `${name}.${key}`),
  );
  expect(undocumented).toEqual([]);
  for (const file of ['pocket-agent/src/agent/agent-config.ts', 'pocket-agent/src/agent-file.ts']) {
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
  const codes = ['packages/kit/src/base/errors.ts', 'packages/store/src/database/store-error.ts'].flatMap(codesIn);
  expect(codes.length).toBeGreaterThan(20);
  expect(missing(codes)).toEqual([]);
});

test('every flag in the help of a command is documented', () => {
  const help = sources.filter((file) => /help|command-line|commands\//.test(file) && !file.startsWith('packages/kit/'));
  const flags = help.flatMap((file) => read(file).match(/(?<![\w-])--[a-z][a-z-]+/g) ?? []);
  expect(flags.length).toBeGreaterThan(20);
  expect(missing(flags)).toEqual([]);
});

test('docs/models.md names every model provider with its package and variables', () => {
  const text = read('docs/models.md');
  for (const { prefix, aliases, packageName, keyVariables } of knownProviders) {
    const row = text.split('\n').find((line) => line.startsWith(`| \`${prefix}/…\``)) ?? '';
    const names = [...aliases.map((alias) => `${alias}/…`), packageName, ...keyVariables];
    for (const name of names) expect(row, prefix).toContain(`\`${name}\``);
  }
});
