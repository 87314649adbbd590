// The JSON Schema of a tool's parameters: whether it is one, whether arguments fit it, and its defaults filled in.
import type {
  JsonSchemaType,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from '@modelcontextprotocol/client';

export type Schema = Record<string, unknown>;

/** A copy of the arguments with defaults, or what is wrong with them. */
export type ArgumentCheck = (args: Record<string, unknown>) => { value: Record<string, unknown> } | { problem: string };

export type CompiledSchema = { check: ArgumentCheck } | { fault: { path: string[]; message: string } };

const DIALECTS = [
  { pattern: /^http:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, meta: 'http://json-schema.org/draft-07/schema#' },
  { pattern: /2019-09/, meta: 'https://json-schema.org/draft/2019-09/schema' },
];
const NEWEST = 'https://json-schema.org/draft/2020-12/schema';

/** What a schema itself must be, by dialect: the same for all, and slow to compile. */
const described = new Map<string, JsonSchemaValidator<unknown>>();

/** For schemas of the program itself: runs on this thread, and errors name the place in the schema. */
export async function compileSchema(schema: Schema): Promise<CompiledSchema> {
  const validator = (await validatorMaker())();
  const dialect = schema.$schema ?? NEWEST;
  const meta = DIALECTS.find(({ pattern }) => pattern.test(String(dialect)))?.meta ?? NEWEST;
  try {
    const describe = described.get(meta) ?? validator.getValidator({ $schema: meta, $ref: meta } as JsonSchemaType);
    described.set(meta, describe);
    const itself = describe(schema);
    if (!itself.valid) return { fault: firstFault(itself.errorMessage) };
    const validate = validator.getValidator(schema as JsonSchemaType);
    return {
      check(args) {
        const value = filled(schema, args);
        const problem = problemOf(validate(value));
        return problem === undefined ? { value: value as Record<string, unknown> } : { problem };
      },
    };
  } catch (error) {
    return { fault: { path: [], message: error instanceof Error ? error.message : String(error) } };
  }
}

/** What is wrong with a value, or undefined. */
export type SchemaValidator = (value: unknown, options: { defaults: boolean }) => string | undefined;

/** For any schema. Compiling and checking one from outside may take any time: see foreign-schema.ts. */
export async function schemaCompiler(): Promise<(schema: unknown) => SchemaValidator> {
  const newValidator = await validatorMaker();
  return (schema) => {
    if (!isSchema(schema)) throw new Error('it is not an object');
    const validate = newValidator().getValidator(schema as JsonSchemaType);
    return (value, { defaults }) => problemOf(validate(defaults ? filled(schema, value) : value));
  };
}

/** A new one for each schema: two may have the same $id. */
async function validatorMaker(): Promise<() => jsonSchemaValidator> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  return () => new AjvJsonSchemaValidator();
}

function filled(schema: Schema, value: unknown): unknown {
  return withDefaults(schema, structuredClone(value), {
    root: schema,
    applied: new Set(),
    filling: [],
    added: { count: 0 },
  });
}

function problemOf(result: JsonSchemaValidatorResult<unknown>): string | undefined {
  return result.valid ? undefined : inWords(result.errorMessage);
}

/** ajv writes `data/properties/a/type must be …, data/…`. */
function firstFault(text: string): { path: string[]; message: string } {
  const [, pointer = '', message = text] = /^data(\/\S*)? ([^,]*)/.exec(text) ?? [];
  return { path: pointer.split('/').slice(1).map(unescapePointer), message };
}

function inWords(text: string): string {
  const faults = text.split(', ').map((fault) => fault.replace(/^data\/?/, '').trim());
  return [...new Set(faults)].join('; ');
}

function unescapePointer(step: string): string {
  return step.replaceAll('~1', '/').replaceAll('~0', '~');
}

export function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Follows `$ref` inside the schema; undefined for one that leads elsewhere. */
export function resolveReference(schema: Schema, root: Schema): Schema | undefined {
  const { $ref: reference } = schema;
  if (typeof reference !== 'string') return undefined;
  if (reference !== '#' && !reference.startsWith('#/')) return undefined;
  let found: unknown = root;
  for (const step of decodeURIComponent(reference).split('/').slice(1)) {
    const name = unescapePointer(step);
    found =
      (isSchema(found) || Array.isArray(found)) && Object.hasOwn(found, name) ? Reflect.get(found, name) : undefined;
  }
  return isSchema(found) ? found : undefined;
}

interface Place {
  root: Schema;
  /** Those that this value was filled by: a schema may refer to itself. */
  applied: Set<Schema>;
  /** Those whose default is being filled in: inside of it they have none, or it would never end. */
  filling: readonly unknown[];
  /** Defaults filled in so far, in the whole value: they can grow exponentially. */
  added: { count: number };
}

const MOST_DEFAULTS = 10_000;

/** Through properties, items, allOf and $ref; never through a choice (anyOf, oneOf, if), of which nobody knows which holds. */
function withDefaults(schema: unknown, value: unknown, place: Place): unknown {
  if (!isSchema(schema) || place.applied.has(schema)) return value;
  place.applied.add(schema);
  let filled = value;
  const referred = resolveReference(schema, place.root);
  if (referred) filled = withDefaults(referred, filled, place);
  for (const part of listOf(schema.allOf)) filled = withDefaults(part, filled, place);
  if (Array.isArray(filled)) return filledItems(schema, filled, place);
  if (isSchema(filled)) return filledProperties(schema, filled, place);
  return filled;
}

function inside(place: Place, filling: readonly unknown[] = place.filling): Place {
  return { ...place, applied: new Set(), filling };
}

function filledItems(schema: Schema, items: unknown[], place: Place): unknown[] {
  const first = listOf(schema.prefixItems ?? schema.items);
  const rest = schema.prefixItems === undefined && Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return items.map((item, index) => withDefaults(index < first.length ? first[index] : rest, item, inside(place)));
}

function filledProperties(schema: Schema, value: Schema, place: Place): Schema {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const present = Object.entries(value).map(([name, item]): [string, unknown] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return [name, withDefaults(own, item, inside(place))];
  });
  const added = Object.entries(properties).flatMap(([name, property]): [string, unknown][] => {
    if (Object.hasOwn(value, name) || place.filling.includes(property)) return [];
    const given = defaultOf(property, place.root);
    if (given === undefined) return [];
    if (++place.added.count > MOST_DEFAULTS) throw new Error(`its defaults add more than ${MOST_DEFAULTS} values`);
    return [[name, withDefaults(property, structuredClone(given), inside(place, [...place.filling, property]))]];
  });
  return Object.fromEntries([...present, ...added]);
}

/** Its own, or that of the first it refers to that has one. */
function defaultOf(property: unknown, root: Schema): unknown {
  const passed = new Set<unknown>();
  for (let schema = property; isSchema(schema) && !passed.has(schema); schema = resolveReference(schema, root)) {
    if (schema.default !== undefined) return schema.default;
    passed.add(schema);
  }
  return undefined;
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
