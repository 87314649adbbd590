// Compares the parameters of a method, read from its source, with the schema in the manifest.
import { isSchema, resolveReference, type Schema } from '@pocket-agent/schema';

type Method = (...args: never[]) => unknown;

interface Parameters {
  /** The parameter names in order; empty if the first one is destructured. */
  positional: string[];
  /** The names in the destructured first parameter; undefined if it is not destructured. */
  destructured: string[] | undefined;
  /** Whether `destructured` is complete: no `...rest`, no computed names. */
  isComplete: boolean;
}

/** Returns undefined if they match, or if the source cannot be analysed. */
export function parameterMismatch(method: Method, schema: Schema): { found: string; expected: string } | undefined {
  const parameters = readParameters(Function.prototype.toString.call(method));
  if (!parameters) return undefined;
  const { names, isOpen } = propertiesOf(schema);
  const { positional, destructured, isComplete } = parameters;
  const expected = `one object: ${method.name}({ ${[...names].join(', ')} }, call)`;
  if (destructured === undefined) {
    const [first, second] = positional;
    const isSpread = positional.length > 2 || [first, second].some((name) => name !== undefined && names.has(name));
    if (isSpread) return { found: `${method.name}(${positional.join(', ')})`, expected };
    if (first === undefined && names.size > 0) return { found: `${method.name}() without parameters`, expected };
    return undefined;
  }
  const found = `${method.name}({ ${destructured.join(', ')} })`;
  const unknown = isOpen ? [] : destructured.filter((name) => !names.has(name));
  if (unknown.length > 0) return { found: `${found}, where the manifest has no ${unknown.join(', ')}`, expected };
  const unused = isComplete ? [...names].filter((name) => !destructured.includes(name)) : [];
  if (unused.length > 0) return { found: `${found}, which does not take ${unused.join(', ')}`, expected };
  return undefined;
}

/** The names of all properties in a schema, and whether it allows others. */
function propertiesOf(root: Schema): { names: Set<string>; isOpen: boolean } {
  const names = new Set<string>();
  const seen = new Set<unknown>();
  let isOpen = false;
  const visit = (schema: unknown): void => {
    if (!isSchema(schema) || seen.has(schema)) return;
    seen.add(schema);
    for (const name of Object.keys(isSchema(schema.properties) ? schema.properties : {})) names.add(name);
    const { additionalProperties, patternProperties, $ref: reference } = schema;
    const referred = resolveReference(schema, root);
    const isExternal = reference !== undefined && !referred;
    if (additionalProperties === true || isSchema(additionalProperties)) isOpen = true;
    if (patternProperties !== undefined || isExternal) isOpen = true;
    const parts = [schema.allOf, schema.anyOf, schema.oneOf].flat();
    for (const part of [referred, ...parts, schema.if, schema.then, schema.else]) visit(part);
  };
  visit(root);
  return { names, isOpen };
}

/** The parameter names of a class's constructor, or of its base class if it declares none. */
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
    return { positional, destructured: undefined, isComplete: true };
  }
  const inner = piecesIn(first, 0);
  if (!inner) return undefined;
  const destructured = inner.flatMap((piece) => nameOf(piece) ?? []);
  return { positional: [], destructured, isComplete: destructured.length === inner.length };
}

/** `a`, `a = 1`, `a: b` and `'a-b': c` have a name; `...rest` and `[computed]` do not. */
function nameOf(piece: string): string | undefined {
  const match = /^(?:'([^']*)'|"([^"]*)"|([\p{ID_Start}$_][\p{ID_Continue}$]*))/u.exec(piece);
  return match ? (match[1] ?? match[2] ?? match[3]) : undefined;
}

/** The text between the bracket at `open` and its closing bracket, split at commas. */
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
