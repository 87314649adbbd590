// The JSON Schema of a tool's parameters: whether it is one, whether arguments fit it, and its defaults filled in.
import type { JsonSchemaType, jsonSchemaValidator } from '@modelcontextprotocol/client';
import { errorText } from '../errors.ts';

export type Schema = Record<string, unknown>;

/** A copy of the arguments with defaults, or what is wrong with them. */
export type ArgumentCheck = (args: Record<string, unknown>) => { value: Record<string, unknown> } | { problem: string };

export type CompiledSchema = { check: ArgumentCheck } | { fault: { path: string[]; message: string } };

const DIALECTS = [
  { pattern: /^http:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, meta: 'http://json-schema.org/draft-07/schema#' },
  { pattern: /2019-09/, meta: 'https://json-schema.org/draft/2019-09/schema' },
];
const NEWEST = 'https://json-schema.org/draft/2020-12/schema';
/** A default may refer to its own schema; deeper than this nobody means it. */
const DEEPEST = 64;

export async function compileSchema(schema: Schema): Promise<CompiledSchema> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  // one for each schema: two may have the same $id
  const validator: jsonSchemaValidator = new AjvJsonSchemaValidator();
  const dialect = schema.$schema ?? NEWEST;
  const meta = DIALECTS.find(({ pattern }) => pattern.test(String(dialect)))?.meta ?? NEWEST;
  try {
    const described = validator.getValidator({ $schema: meta, $ref: meta } as JsonSchemaType)(schema);
    if (!described.valid) return { fault: firstFault(described.errorMessage) };
    const validate = validator.getValidator(schema as JsonSchemaType);
    return {
      check(args) {
        const value = withDefaults(schema, structuredClone(args), { root: schema, depth: 0 });
        const result = validate(value);
        return result.valid ? { value: value as Record<string, unknown> } : { problem: inWords(result.errorMessage) };
      },
    };
  } catch (error) {
    return { fault: { path: [], message: errorText(error) } };
  }
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
  depth: number;
}

/** Through properties, items, allOf and $ref; never through a choice (anyOf, oneOf, if), of which nobody knows which holds. */
function withDefaults(schema: unknown, value: unknown, place: Place): unknown {
  if (!isSchema(schema) || place.depth > DEEPEST) return value;
  const deeper = { ...place, depth: place.depth + 1 };
  let filled = value;
  const referred = resolveReference(schema, place.root);
  if (referred) filled = withDefaults(referred, filled, deeper);
  for (const part of listOf(schema.allOf)) filled = withDefaults(part, filled, deeper);
  if (Array.isArray(filled)) return filledItems(schema, filled, deeper);
  if (isSchema(filled)) return filledProperties(schema, filled, deeper);
  return filled;
}

function filledItems(schema: Schema, items: unknown[], place: Place): unknown[] {
  const first = listOf(schema.prefixItems ?? schema.items);
  const rest = schema.prefixItems === undefined && Array.isArray(schema.items) ? schema.additionalItems : schema.items;
  return items.map((item, index) => withDefaults(index < first.length ? first[index] : rest, item, place));
}

function filledProperties(schema: Schema, value: Schema, place: Place): Schema {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const present = Object.entries(value).map(([name, item]): [string, unknown] => {
    const own = Object.hasOwn(properties, name) ? properties[name] : schema.additionalProperties;
    return [name, withDefaults(own, item, place)];
  });
  const added = Object.entries(properties).flatMap(([name, property]): [string, unknown][] => {
    const given = Object.hasOwn(value, name) ? undefined : defaultOf(property, place);
    return given === undefined ? [] : [[name, withDefaults(property, structuredClone(given), place)]];
  });
  return Object.fromEntries([...present, ...added]);
}

function defaultOf(schema: unknown, { root, depth }: Place): unknown {
  if (!isSchema(schema) || depth > DEEPEST) return undefined;
  if (schema.default !== undefined) return schema.default;
  const referred = resolveReference(schema, root);
  return referred && defaultOf(referred, { root, depth: depth + 1 });
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
