// Finds mistakes in a JSON Schema of the program at once, without loading a validator.
import { didYouMean } from '@pocket-agent/kit';
import { isSchema, type Schema } from './references.ts';

const TYPES = ['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'];
const WITH_NAMED_SCHEMAS = ['properties', 'patternProperties', '$defs', 'definitions'];
const WITH_SCHEMA = ['items', 'additionalProperties', 'not', 'contains', 'propertyNames', 'if', 'then', 'else'];
const WITH_SCHEMAS = ['anyOf', 'oneOf', 'allOf', 'prefixItems'];

interface Part {
  path: string;
  schema: unknown;
}

/** The first unknown type, or keyword with a value of the wrong kind; undefined if there is none. */
export function schemaMistake(root: Schema): string | undefined {
  const seen = new Set<unknown>(); // parts may be shared, thousands of times
  const parts: Part[] = [{ path: '', schema: root }];
  for (let part = parts.pop(); part; part = parts.pop()) {
    const { path, schema } = part;
    if (typeof schema === 'boolean' || seen.has(schema)) continue;
    seen.add(schema);
    if (!isSchema(schema)) return `${path} must be a schema`;
    const mistake = ownMistake(schema);
    if (mistake !== undefined) return `${path && `${path}.`}${mistake}`;
    parts.push(...partsOf(schema, path && `${path}.`));
  }
  return undefined;
}

function ownMistake(schema: Schema): string | undefined {
  const { type, required } = schema;
  for (const name of type === undefined ? [] : [type].flat())
    if (!TYPES.includes(name as string))
      return `type is ${JSON.stringify(name)}; it must be one of ${TYPES.join(', ')}.${didYouMean(String(name), TYPES)}`;
  if (required !== undefined && !isListOf(required, (name) => typeof name === 'string'))
    return 'required must be a list of names';
  if (schema.enum !== undefined && !Array.isArray(schema.enum)) return 'enum must be a list of values';
  for (const keyword of WITH_NAMED_SCHEMAS)
    if (schema[keyword] !== undefined && !isSchema(schema[keyword])) return `${keyword} must be an object of schemas`;
  for (const keyword of WITH_SCHEMAS)
    if (schema[keyword] !== undefined && !Array.isArray(schema[keyword])) return `${keyword} must be a list of schemas`;
  return undefined;
}

function partsOf(schema: Schema, prefix: string): Part[] {
  const parts: Part[] = [];
  for (const keyword of WITH_NAMED_SCHEMAS)
    for (const [name, part] of Object.entries(schema[keyword] ?? {}))
      parts.push({ path: `${prefix}${keyword}.${name}`, schema: part });
  // items of older drafts may be a list
  for (const keyword of [...WITH_SCHEMA, ...WITH_SCHEMAS])
    for (const part of schema[keyword] === undefined ? [] : [schema[keyword]].flat())
      parts.push({ path: `${prefix}${keyword}`, schema: part });
  return parts;
}

function isListOf(value: unknown, accepts: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.every(accepts);
}
