// Makes the reference: a page for each module that users import, from comments and the compiler's declarations.
import { type Node, type PublicName, publicEntries, publicNames, readModule, usedDeclaration } from './public-names.ts';

/** The path of the page of a module, without extension: `reference/a2a-client` for @pocket-agent/a2a/client. */
export function referencePath(entry: string): string {
  return `reference/${entry.replace('@pocket-agent/', '').replaceAll('/', '-')}`;
}

/** Returns the Markdown of each page by its path, and an index of all names to append to docs/reference.md. Needs a build. */
export function referencePages(): { pages: Map<string, string>; index: string } {
  const entries = [...publicEntries('types')].map(([entry, file]) => ({ entry, names: publicNames(file, 'types') }));
  const pages = new Map(entries.map((each) => [`${referencePath(each.entry)}.md`, page(each, entries)]));
  const index = entries.map(({ entry, names }) => {
    const links = names.map(({ name }) => `[\`${name}\`](${referencePath(entry)}.md#${anchorOf(name)})`);
    return `## ${entry}\n\n${links.join(', ')}\n`;
  });
  return { pages, index: index.join('\n') };
}

interface Entry {
  entry: string;
  names: PublicName[];
}

/** Keeps the case of letters, because some names differ only in it. */
function anchorOf(name: string): string {
  return name.replaceAll('$', '');
}

function page({ entry, names }: Entry, entries: readonly Entry[]): string {
  const section = (each: PublicName) => nameSection(each, [{ entry, names }, ...entries]);
  const values = names.filter(({ isType }) => !isType);
  const types = names.filter(({ isType }) => isType);
  return [
    `---\npageClass: reference\noutline: [2, 3]\n---\n# ${entry}\n`,
    ...(values.length > 0 ? ['## Classes, functions and values\n', ...values.map(section)] : []),
    ...(types.length > 0 ? ['## Types\n', ...types.map(section)] : []),
  ].join('\n');
}

function nameSection(each: PublicName, entries: readonly Entry[]): string {
  const shown = [each, ...hiddenNames(each, entries)];
  const links = new Set(shown.flatMap((declared) => used(declared).flatMap((name) => linkTo(name, entries))));
  const uses = [...links].filter((link) => !link.endsWith(`](#${anchorOf(each.name)})`)).sort();
  return [
    `### ${each.name} {#${anchorOf(each.name)}}\n`,
    ...(each.comment ? [`${inMarkdown(each.comment)}\n`] : []),
    `\`\`\`ts\n${shown.map(printed).join('\n\n')}\n\`\`\`\n`,
    ...(uses.length > 0 ? [`Uses ${uses.join(', ')}.\n`] : []),
  ].join('\n');
}

/** The declarations that it uses, also indirectly, and that have no section of their own. */
function hiddenNames(each: PublicName, entries: readonly Entry[]): PublicName[] {
  const found = new Map([[each.name, each]]);
  for (const declared of found.values()) {
    for (const name of used(declared)) {
      if (!found.has(name.name) && linkTo(name, entries).length === 0) found.set(name.name, name);
    }
  }
  return [...found.values()].slice(1);
}

/** A link to the name in the first module that has it. The first of `entries` is the page itself. */
function linkTo({ name, file }: PublicName, entries: readonly Entry[]): string[] {
  const found = entries.find(({ names }) => names.some((each) => each.name === name && each.file === file));
  if (!found) return [];
  const path = found === entries[0] ? '' : `${referencePath(found.entry).replace('reference/', '')}.md`;
  return [`[\`${name}\`](${path}#${anchorOf(name)})`];
}

/** The declarations of this repository that a declaration uses. */
function used(declared: PublicName): PublicName[] {
  return usedNames(declared).flatMap((name) => usedDeclaration(declared.file, name) ?? []);
}

/** The names of types, values and base classes in the declarations. */
function usedNames({ declarations }: PublicName): string[] {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) value.forEach(visit);
    else if (isNode(value) && !isPrivate(value)) {
      for (const field of ['typeName', 'exprName', 'superClass', 'expression']) {
        const { type, name } = (value[field] ?? {}) as { type?: string; name?: string };
        if (type === 'Identifier' && name !== undefined) found.add(name);
      }
      Object.values(value).forEach(visit);
    }
  };
  visit(declarations);
  return [...found];
}

function isNode(value: unknown): value is Node {
  return typeof value === 'object' && value !== null && 'type' in value;
}

function isPrivate(node: Node): boolean {
  const { accessibility, key } = node as { accessibility?: string; key?: { type: string } };
  return accessibility === 'private' || key?.type === 'PrivateIdentifier';
}

/** The declaration as users see it, without private members. */
function printed({ declarations, file }: PublicName): string {
  return declarations.map((declaration) => printedNode(declaration, file)).join('\n');
}

function printedNode(declaration: Node, file: string): string {
  const { text, comments } = readModule(file);
  const members = ((declaration.body as { body?: Node[] } | undefined)?.body ?? []) as Node[];
  let result = text.slice(declaration.start, declaration.end);
  for (const member of members.filter(isPrivate).reverse()) {
    const before = comments.findLast(({ end }) => end <= member.start);
    const isItsOwn = before && before.start > declaration.start && text.slice(before.end, member.start).trim() === '';
    const start = (isItsOwn ? before.start : member.start) - declaration.start;
    result = result.slice(0, start).trimEnd() + result.slice(member.end - declaration.start);
  }
  return result.replace(/^declare /, '').replace(/^(?: {4})+/gm, (indent) => indent.slice(indent.length / 2));
}

/** Escapes what looks like HTML outside of code, because comments are plain text. */
function inMarkdown(comment: string): string {
  return comment.replace(/`[^`]*`|</g, (part) => (part === '<' ? '&lt;' : part));
}
