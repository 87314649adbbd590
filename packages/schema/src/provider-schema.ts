// The input schema of a tool as every provider takes it: a plain object at the root, valid draft 2020-12 below it. The
// tool itself keeps its own schema, and arguments are checked against that.

import { atReference, isSchema, type Schema } from './references.ts';

export interface RepairedSchema {
  schema: Schema;
  /** Changed names of arguments, with the tool's own names. */
  ownNames?: ReadonlyMap<string, string>;
}

/** Larger schemas are replaced: they come from outside, and are read on the main thread. */
const MAX_VALUES = 50_000;
/** The rest of a schema with more nodes is ignored. */
const MAX_NODES = 5_000;
const MAX_DEPTH = 40;

/** The same object when there is nothing to repair. */
export function repairSchema(given: Schema): RepairedSchema {
  if (isTooLarge(given)) return { schema: { type: 'object', properties: {} } };
  const root = flatRoot(given);
  const node = repairNode(root, { left: MAX_NODES, root }, 0);
  const schema = isSchema(node) ? node : {};
  const whole = schema.properties && schema.type === 'object' ? schema : { properties: {}, ...schema, type: 'object' };
  return withValidKeys(whole);
}

/** Counts values of any kind, also those of enums and of unknown keywords. */
function isTooLarge(schema: Schema): boolean {
  let left = MAX_VALUES;
  const open: unknown[] = [schema];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== 'object' || value === null) continue;
    const items = Object.values(value);
    left -= items.length;
    if (left < 0) return true;
    for (const item of items) open.push(item);
  }
  return false;
}

/** Arguments as the tool calls them; the same object when no name was changed. */
export function ownArguments(
  args: Record<string, unknown>,
  ownNames: ReadonlyMap<string, string> | undefined,
): Record<string, unknown> {
  if (!ownNames || !Object.keys(args).some((name) => ownNames.has(name))) return args;
  return Object.fromEntries(Object.entries(args).map(([name, value]) => [ownNames.get(name) ?? name, value]));
}

const alternatives = ['anyOf', 'oneOf'] as const;
const refusedAtRoot = [...alternatives, 'allOf', 'not', 'enum', 'const', 'if', 'then', 'else', '$ref'];

/** How deep combinations at the root are followed. */
const MAX_COMBINATION_DEPTH = 5;
/** Branches of all combinations at the root together, each counted with its properties. */
const MAX_BRANCHES = 2_000;
const MAX_ALTERNATIVES = 50;
/** Characters of properties to compare; properties beyond this count as different. */
const MAX_COMPARED_CHARACTERS = 1_000_000;

/** Bounds the work on combinations: a branch may be referred to by many others, which multiplies at each level. */
interface Flattening {
  left: number;
  /** JSON of the schemas that were compared, each written once. */
  texts: Map<unknown, string>;
  charactersLeft: number;
}

function newFlattening(): Flattening {
  return { left: MAX_BRANCHES, texts: new Map(), charactersLeft: MAX_COMPARED_CHARACTERS };
}

/** No provider takes combinations at the root: their properties move into one object. */
function flatRoot(given: Schema, state: Flattening = newFlattening(), depth = 0): Schema {
  if (!refusedAtRoot.some((key) => key in given)) return given;
  if (depth > MAX_COMBINATION_DEPTH) return plain(given);
  const flatBranches = (listed: unknown) =>
    branchesOf(given, listed, state).map((branch) => flatRoot(branch, state, depth + 1));
  const all = [plain(given), ...flatBranches(given.allOf), ...('$ref' in given ? flatBranches([given]) : [])];
  for (const key of alternatives) {
    const branches = flatBranches(given[key]);
    if (branches.length > 0) all.push(oneOfThese(branches, state));
  }
  return merged(all, state);
}

function plain(schema: Schema): Schema {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => !refusedAtRoot.includes(key)));
}

/** The schemas of a combination that describe objects, with references to definitions followed. */
function branchesOf(root: Schema, listed: unknown, state: Flattening): Schema[] {
  if (!Array.isArray(listed)) return [];
  const { $defs, definitions } = root;
  const shared = { ...($defs === undefined ? {} : { $defs }), ...(definitions === undefined ? {} : { definitions }) };
  const found: Schema[] = [];
  for (const branch of listed) {
    if (state.left <= 0) break;
    const target = isSchema(branch) && typeof branch.$ref === 'string' ? atReference(root, branch.$ref) : branch;
    if (!isSchema(target) || target === root) continue;
    state.left -= 1 + Object.keys(propertiesOf(target)).length + requiredOf(target).length;
    found.push({ ...shared, ...target });
  }
  return found;
}

/** If several schemas have the same keyword, the first counts. */
function merged(schemas: readonly Schema[], state: Flattening): Schema {
  const found = new Map<string, Map<string, unknown>>();
  for (const [name, schema] of schemas.flatMap((each) => Object.entries(propertiesOf(each)))) {
    const text = textOf(schema, state);
    const different = found.get(name) ?? new Map<string, unknown>();
    if (different.size < MAX_ALTERNATIVES) different.set(text, schema);
    found.set(name, different);
  }
  const properties = [...found].map(([name, different]) => {
    const [first, ...others] = different.values();
    return [name, others.length > 0 ? { anyOf: [first, ...others] } : first];
  });
  const required = [...new Set(schemas.flatMap(requiredOf))];
  const description = schemas.flatMap((each) => (typeof each.description === 'string' ? [each.description] : []));
  return {
    ...Object.assign({}, ...schemas.toReversed()),
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required } : {}),
    ...(description.length > 0 ? { description: description.join(' ') } : {}),
  };
}

function textOf(schema: unknown, state: Flattening): string {
  const { texts, charactersLeft } = state;
  const text = texts.get(schema) ?? (charactersLeft > 0 ? (JSON.stringify(schema) ?? '') : `different ${texts.size}`);
  if (!texts.has(schema)) state.charactersLeft -= text.length;
  texts.set(schema, text);
  return text;
}

/** Required only if every alternative requires it; the description names the rest. */
function oneOfThese(branches: readonly Schema[], state: Flattening): Schema {
  const [first = [], ...others] = branches.map((branch) => requiredOf(branch));
  const sets = others.map((names) => new Set(names));
  const required = first.filter((name) => sets.every((names) => names.has(name)));
  const groups = new Set([first, ...others].map((names) => names.join(' and ')).filter(Boolean));
  const { required: _, description: __, ...all } = merged(branches, state);
  return { ...all, required, ...(groups.size > 1 ? { description: `Give one of: ${[...groups].join('; ')}.` } : {}) };
}

function propertiesOf({ properties }: Schema): Schema {
  return isSchema(properties) ? properties : {};
}

function requiredOf({ required }: Schema): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [];
}

interface Walk {
  left: number;
  root: Schema;
}

const types = ['string', 'number', 'integer', 'boolean', 'array', 'object', 'null'];
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const isCount = (value: unknown) => Number.isInteger(value) && Number(value) >= 0;
const isText = (value: unknown) => typeof value === 'string';

/** Keywords whose value may only be of one kind; others are dropped. */
const kinds: Record<string, (value: unknown) => boolean> = {
  title: isText,
  description: isText,
  format: isText,
  pattern: isPortablePattern,
  minimum: isNumber,
  maximum: isNumber,
  exclusiveMinimum: isNumber,
  exclusiveMaximum: isNumber,
  multipleOf: (value) => isNumber(value) && Number(value) > 0,
  minLength: isCount,
  maxLength: isCount,
  minItems: isCount,
  maxItems: isCount,
  minProperties: isCount,
  maxProperties: isCount,
  uniqueItems: (value) => typeof value === 'boolean',
  enum: (value) => Array.isArray(value) && value.length > 0,
  examples: Array.isArray,
  $schema: () => false,
  $id: () => false,
};
const nodes = ['items', 'additionalProperties', 'contains', 'propertyNames', 'not', 'if', 'then', 'else'];
const nodeMaps = ['properties', '$defs', 'definitions', 'patternProperties', 'dependentSchemas'];
const nodeLists = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];

function repairNode(node: unknown, walk: Walk, depth: number): unknown {
  if (typeof node === 'boolean') return node;
  if (!isSchema(node) || depth > MAX_DEPTH || walk.left-- <= 0) return {};
  const inner = (child: unknown) => repairNode(child, walk, depth + 1);
  const entries = Object.entries(draft2020(node)).flatMap(([key, value]): [string, unknown][] => {
    if (kinds[key] && Object.hasOwn(kinds, key)) return kinds[key](value) ? [[key, value]] : [];
    if (key === 'type') return typeEntry(value);
    if (key === '$ref') return isText(value) && atReference(walk.root, String(value)) ? [[key, value]] : [];
    if (nodes.includes(key)) return [[key, inner(value)]];
    if (nodeMaps.includes(key)) return isSchema(value) ? [[key, mapped(value, inner)]] : [];
    if (nodeLists.includes(key)) return Array.isArray(value) && value.length > 0 ? [[key, value.map(inner)]] : [];
    return [[key, value]];
  });
  const repaired = withRequired(Object.fromEntries(entries));
  if ([repaired.type].flat().includes('array') && repaired.items === undefined) repaired.items = {};
  return isUnchanged(node, repaired) ? node : repaired;
}

/** Draft 4 wrote exclusive bounds as booleans and tuples as lists of items. */
function draft2020(node: Schema): Schema {
  const next = { ...node };
  for (const [exclusive, bound] of [
    ['exclusiveMinimum', 'minimum'],
    ['exclusiveMaximum', 'maximum'],
  ] as const) {
    if (next[exclusive] !== true) continue;
    next[exclusive] = next[bound];
    delete next[bound];
  }
  if (Array.isArray(next.items)) next.items = next.items.length > 0 ? { anyOf: next.items } : {};
  return next;
}

function typeEntry(value: unknown): [string, unknown][] {
  if (!Array.isArray(value)) return types.includes(String(value)) ? [['type', value]] : [];
  const valid = [...new Set(value.filter((type) => types.includes(type)))];
  if (valid.length === 0) return [];
  return [['type', valid.length === value.length ? value : valid]];
}

/** Draft 3 wrote `required` as a boolean, and Gemini refuses names that are not among the properties. */
function withRequired(node: Schema): Schema {
  if (!('required' in node)) return node;
  const names = requiredOf(node);
  const known = isSchema(node.properties) ? names.filter((name) => Object.hasOwn(propertiesOf(node), name)) : names;
  const { required, ...others } = node;
  if (known.length === 0) return others;
  return Array.isArray(required) && known.length === required.length ? node : { ...node, required: known };
}

function mapped(map: Schema, change: (child: unknown) => unknown): Schema {
  const next = Object.fromEntries(Object.entries(map).map(([name, child]) => [name, change(child)]));
  return isUnchanged(map, next) ? map : next;
}

function isUnchanged(before: Schema, after: Schema): boolean {
  const keys = Object.keys(before);
  const isSame = (key: string) => {
    const [one, other] = [before[key], after[key]];
    const areLists = Array.isArray(one) && Array.isArray(other) && one.length === other.length;
    return one === other || (areLists && one.every((item, index) => item === other[index]));
  };
  return keys.length === Object.keys(after).length && keys.every((key) => key in after && isSame(key));
}

/** Longer patterns take long to compile. */
const MAX_PATTERN_LENGTH = 10_000;

/** Without JavaScript-only syntax: Unicode property classes, named groups. */
function isPortablePattern(value: unknown): boolean {
  if (typeof value !== 'string' || value.length > MAX_PATTERN_LENGTH) return false;
  if (/\\[pPkcuC]|\(\?<[^=!]/.test(value)) return false;
  try {
    return new RegExp(value) instanceof RegExp;
  } catch {
    return false;
  }
}

const validKey = /^[a-zA-Z0-9_.-]{1,64}$/;
/** Leaves room for a number. */
const MAX_STEM_LENGTH = 56;

/** Claude accepts only root keys that match `validKey`; others are renamed, and restored in the arguments of a call. */
function withValidKeys(schema: Schema): RepairedSchema {
  const properties = propertiesOf(schema);
  const names = Object.keys(properties);
  if (names.every((name) => validKey.test(name))) return { schema };
  const sentNames = new Map<string, string>();
  const taken = new Set(names.filter((name) => validKey.test(name)));
  const counts = new Map<string, number>();
  for (const name of names) {
    const sent = taken.has(name) ? name : freeKey(name, taken, counts);
    taken.add(sent);
    sentNames.set(name, sent);
  }
  const sentName = (name: string) => sentNames.get(name) ?? name;
  const renamed = Object.entries(properties).map(([name, child]) => [sentName(name), child]);
  const ownNames = new Map([...sentNames].filter(([own, sent]) => own !== sent).map(([own, sent]) => [sent, own]));
  const required = requiredOf(schema).map(sentName);
  const changed = { ...schema, properties: Object.fromEntries(renamed), ...(required.length > 0 ? { required } : {}) };
  return { schema: changed, ownNames };
}

/** `counts`: the last number that a wanted name was given, so that names that look alike are not all tried again. */
function freeKey(name: string, taken: ReadonlySet<string>, counts: Map<string, number>): string {
  const wanted = name.replace(/[^a-zA-Z0-9_.-]/g, '_').slice(0, MAX_STEM_LENGTH) || '_';
  let key = wanted;
  let count = counts.get(wanted) ?? 1;
  while (taken.has(key)) key = `${wanted}_${++count}`;
  counts.set(wanted, count);
  return key;
}
