// The parameters that a method is written with, compared with those its manifest promises.
import { isSchema, resolveReference, type Schema } from 'pocket-agent/internal';

type Method = (...args: never[]) => unknown;

interface Parameters {
  /** The plain names, in order; empty when the first one is taken apart. */
  positional: string[];
  /** The names that the first parameter is taken apart into; undefined when it is not. */
  taken: string[] | undefined;
  /** Whether `taken` is all that can be seen: no `...rest`, no computed names. */
  isWhole: boolean;
}

/** Undefined when they agree, or when nobody can tell. */
export function parameterMismatch(method: Method, schema: Schema): { found: string; expected: string } | undefined {
  const written = readParameters(Function.prototype.toString.call(method));
  if (!written) return undefined;
  const { names, isOpen } = promised(schema);
  const { positional, taken, isWhole } = written;
  const expected = `one object: ${method.name}({ ${[...names].join(', ')} }, call)`;
  if (taken === undefined) {
    const [first, second] = positional;
    const isSpread = positional.length > 2 || [first, second].some((name) => name !== undefined && names.has(name));
    if (isSpread) return { found: `${method.name}(${positional.join(', ')})`, expected };
    if (first === undefined && names.size > 0) return { found: `${method.name}() without parameters`, expected };
    return undefined;
  }
  const found = `${method.name}({ ${taken.join(', ')} })`;
  const unknown = isOpen ? [] : taken.filter((name) => !names.has(name));
  if (unknown.length > 0) return { found: `${found}, where the manifest has no ${unknown.join(', ')}`, expected };
  const unused = isWhole ? [...names].filter((name) => !taken.includes(name)) : [];
  if (unused.length > 0) return { found: `${found}, which does not take ${unused.join(', ')}`, expected };
  return undefined;
}

/** The names of all properties that a schema speaks of, and whether it says that there may be others. */
function promised(root: Schema): { names: Set<string>; isOpen: boolean } {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  let isOpen = false;
  const visit = (schema: unknown): void => {
    if (!isSchema(schema) || seen.has(schema)) return;
    seen.add(schema);
    for (const name of Object.keys(isSchema(schema.properties) ? schema.properties : {})) names.add(name);
    const { additionalProperties, patternProperties, $ref: reference } = schema;
    const referred = resolveReference(schema, root);
    const leadsElsewhere = reference !== undefined && !referred;
    if (additionalProperties === true || isSchema(additionalProperties)) isOpen = true;
    if (patternProperties !== undefined || leadsElsewhere) isOpen = true;
    const parts = [schema.allOf, schema.anyOf, schema.oneOf].flat();
    for (const part of [referred, ...parts, schema.if, schema.then, schema.else]) visit(part);
  };
  visit(root);
  return { names, isOpen };
}

/** The names of the parameters of a class's constructor, or of its base class if it declares none. */
export function constructorParameters(Class: unknown): string[] {
  if (typeof Class !== 'function' || Class === Function.prototype) return [];
  const source = Function.prototype.toString.call(Class);
  const found = /\bconstructor\s*\(/.exec(source);
  if (!found) return constructorParameters(Object.getPrototypeOf(Class));
  const pieces = piecesIn(source, found.index + found[0].length - 1) ?? [];
  return pieces.map((piece) => nameOf(piece) ?? '');
}

function readParameters(source: string): Parameters | undefined {
  const pieces = piecesIn(source, source.indexOf('('));
  if (!pieces) return undefined;
  const [first = ''] = pieces;
  if (first.startsWith('...') || first.startsWith('[')) return undefined;
  if (!first.startsWith('{')) {
    const positional = pieces.map((piece) => nameOf(piece) ?? piece);
    return { positional, taken: undefined, isWhole: true };
  }
  const inner = piecesIn(first, 0);
  if (!inner) return undefined;
  const taken = inner.flatMap((piece) => nameOf(piece) ?? []);
  return { positional: [], taken, isWhole: taken.length === inner.length };
}

/** `a`, `a = 1`, `a: b` and `'a-b': c` have a name; `...rest` and `[computed]` do not. */
function nameOf(piece: string): string | undefined {
  const match = /^(?:'([^']*)'|"([^"]*)"|([\p{ID_Start}$_][\p{ID_Continue}$]*))/u.exec(piece);
  return match ? (match[1] ?? match[2] ?? match[3]) : undefined;
}

/** What stands between the bracket at `open` and its partner, split at the commas of that level. */
function piecesIn(source: string, open: number): string[] | undefined {
  const token = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|`(?:\\[\s\S]|[^`\\])*`|[\s\S]/gy;
  token.lastIndex = open + 1;
  const pieces: string[] = [];
  let piece = '';
  let depth = 0;
  for (const [text] of source.matchAll(token)) {
    if (text.startsWith('//') || text.startsWith('/*')) continue;
    if ('([{'.includes(text)) depth++;
    if (')]}'.includes(text)) depth--;
    if (depth < 0) return [...pieces, piece].map((whole) => whole.trim()).filter((whole) => whole !== '');
    if (text === ',' && depth === 0) {
      pieces.push(piece);
      piece = '';
    } else piece += text;
  }
  return undefined;
}
