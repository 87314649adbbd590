// Finds the public names of the packages, with their comments and declarations, in the sources or in the compiler's .d.ts files.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parseSync } from 'rolldown/experimental';
import { hasTarball } from '../standalone.ts';
import { readWorkspaces } from '../workspaces.ts';

/** Where to read: `types` needs a build; declarations of `pocket-agent/source` contain the code of functions. */
type Condition = 'types' | 'pocket-agent/source';

export interface PublicName {
  name: string;
  /** Whether it exists only in types. */
  isType: boolean;
  /** The file that declares it. */
  file: string;
  comment: string;
  /** Several for a function with overloads. */
  declarations: Node[];
}

/** A node of the syntax tree, as far as it is used here. */
export interface Node {
  type: string;
  start: number;
  end: number;
  [field: string]: unknown;
}

interface Comment {
  type: string;
  value: string;
  start: number;
  end: number;
}

interface Module {
  text: string;
  comments: Comment[];
  declared: Map<string, { statement: Node; declaration: Node }[]>;
  /** Names imported from other modules. */
  imported: Map<string, Origin>;
  /** Exported names, of the module itself or of other modules. */
  exported: Map<string, Origin & { isType: boolean }>;
}

interface Origin {
  /** Undefined for names of the same module. */
  from?: string | undefined;
  original: string;
}

const modules = new Map<string, Module>();
const workspaces = readWorkspaces();

/** The file of each module that users import, by its name. Modules with `internal` in their name are left out. */
export function publicEntries(condition: Condition): Map<string, string> {
  const packages = [...workspaces.values()].filter(hasTarball);
  return new Map(
    packages.flatMap(({ manifest }) =>
      [...entriesOf(manifest.name, condition)].filter(([name]) => !name.includes('internal')),
    ),
  );
}

export function publicNames(entry: string, condition: Condition): PublicName[] {
  const exported = [...readModule(entry).exported];
  return exported
    .map(([name, { isType }]) => ({ ...declarationOf(entry, name, condition), name, isType }))
    .map(({ isType, ...rest }) => ({ ...rest, isType: isType || rest.declarations.every(isTypeOnly) }))
    .sort((one, other) => one.name.localeCompare(other.name, 'en'));
}

/** The declaration of a name that a module uses. Undefined for names of other packages and for type parameters. */
export function usedDeclaration(file: string, name: string): PublicName | undefined {
  const { declared, imported } = readModule(file);
  const isOurs = declared.has(name) || /^(?:\.|@?pocket-agent)/.test(imported.get(name)?.from ?? '');
  return isOurs ? declarationOf(file, name, 'types') : undefined;
}

function entriesOf(packageName: string, condition: Condition): Map<string, string> {
  const workspace = workspaces.get(packageName);
  assert.ok(workspace, `There is no package ${packageName}.`);
  const { exports = {} } = workspace.manifest;
  const entries = new Map<string, string>();
  for (const [path, target] of Object.entries(exports)) {
    const file = typeof target === 'string' ? undefined : target[condition];
    if (file?.endsWith('.ts')) entries.set(join(packageName, path), join(workspace.folder, file));
  }
  return entries;
}

function declarationOf(file: string, name: string, condition: Condition): PublicName {
  const { declared, imported, exported, ...module } = readModule(file);
  const origin: Origin = exported.get(name) ?? { original: name };
  const { from, original } = origin.from === undefined ? (imported.get(origin.original) ?? origin) : origin;
  if (from !== undefined) return declarationOf(moduleOf(from, file, condition), original, condition);
  const found = declared.get(original) ?? assert.fail(`${file} does not declare ${original}.`);
  const isClass = found.some(({ declaration }) => declaration.type === 'ClassDeclaration');
  const comments = found.map(({ statement }) => commentBefore(module, statement));
  const comment = comments.find(Boolean) ?? (isClass ? aboutFile(file, original) : '');
  return { name, isType: false, file, comment, declarations: found.map(({ declaration }) => declaration) };
}

function moduleOf(specifier: string, from: string, condition: Condition): string {
  if (!specifier.startsWith('.')) {
    const [, packageName = ''] = /^((?:@[^/]+\/)?[^/]+)/.exec(specifier) ?? [];
    return entriesOf(packageName, condition).get(specifier) ?? assert.fail(`${specifier} has no types.`);
  }
  const path = join(dirname(from), specifier);
  return condition === 'types' ? path.replace(/\.ts$/, '.d.ts') : path;
}

export function readModule(file: string): Module {
  const known = modules.get(file);
  if (known) return known;
  const text = readFileSync(file, 'utf8');
  const { program, comments, errors } = parseSync(file, text);
  assert.deepEqual(errors, [], file);
  const module: Module = { text, comments, declared: new Map(), imported: new Map(), exported: new Map() };
  for (const statement of program.body as unknown as Node[]) addStatement(module, statement);
  modules.set(file, module);
  return module;
}

function addStatement({ declared, imported, exported }: Module, statement: Node): void {
  const from = (statement.source as { value: string } | null | undefined)?.value;
  const specifiers = (statement.specifiers ?? []) as Specifier[];
  if (statement.type === 'ImportDeclaration') {
    for (const { local, imported: original } of specifiers)
      imported.set(local.name, { from, original: original?.name ?? 'default' });
    return;
  }
  const isExport = statement.type === 'ExportNamedDeclaration';
  const declaration = isExport ? (statement.declaration as Node | null) : statement;
  for (const name of declaration ? namesOf(declaration) : []) {
    declared.set(name, [...(declared.get(name) ?? []), { statement, declaration: declaration as Node }]);
    if (isExport) exported.set(name, { original: name, isType: false });
  }
  if (!isExport) return;
  for (const each of specifiers) {
    const isType = each.exportKind === 'type' || statement.exportKind === 'type';
    exported.set(each.exported.name, { from, original: each.local.name, isType });
  }
}

interface Specifier {
  local: { name: string };
  imported?: { name: string };
  exported: { name: string };
  exportKind?: string;
}

function namesOf(declaration: Node): string[] {
  const { id, declarations } = declaration as { id?: { name: string }; declarations?: { id: { name: string } }[] };
  return id ? [id.name] : (declarations ?? []).map((each) => each.id.name);
}

function isTypeOnly({ type }: Node): boolean {
  return type === 'TSInterfaceDeclaration' || type === 'TSTypeAliasDeclaration';
}

/** The first comment of a source file, which describes its class. */
function aboutFile(file: string, name: string): string {
  const source = file.replace('/dist/', '/src/').replace(/\.d\.ts$/, '.ts');
  const [comment = ''] = /^(?:\/\/ .*\n)+/.exec(readFileSync(source, 'utf8')) ?? [];
  const about = comment
    .replace(/^\/\/ /gm, '')
    .replace(`${name}: `, '')
    .trim();
  return about.replace(/^./, (letter) => letter.toUpperCase());
}

/** The text of the comment that ends right before the node. */
function commentBefore({ text, comments }: Pick<Module, 'text' | 'comments'>, node: Node): string {
  const comment = comments.findLast(({ end }) => end <= node.start);
  if (!comment?.value.startsWith('*') || text.slice(comment.end, node.start).trim() !== '') return '';
  return comment.value.replace(/^\s*\*+ ?/gm, '').trim();
}
