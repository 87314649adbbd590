// JSON Schemas for providers that enforce the schema of an answer only in a strict form.
import { isSchema, type Schema } from './references.ts';

/** Keywords that OpenAI refuses in strict mode. */
const refused = ['oneOf', 'allOf', 'not', 'if', 'then', 'else', 'prefixItems', 'patternProperties', 'dependentSchemas'];
const listed = ['anyOf'];
const named = ['properties', '$defs', 'definitions'];

/** A copy in which every object is closed. Undefined if an object has optional or further properties. */
export function strictSchema(schema: Schema): Schema | undefined {
  if (refused.some((keyword) => keyword in schema)) return undefined;
  const copy: Schema = { ...schema };
  for (const [keyword, value] of Object.entries(schema)) {
    const strict = strictPart(keyword, value);
    if (strict === undefined) return undefined;
    copy[keyword] = strict;
  }
  const isObject = [schema.type].flat().includes('object') || 'properties' in schema;
  if (!isObject) return copy;
  const names = isSchema(schema.properties) ? Object.keys(schema.properties) : [];
  const required = Array.isArray(schema.required) ? schema.required : [];
  const isClosed = schema.additionalProperties === undefined || schema.additionalProperties === false;
  if (names.length === 0 || !isClosed || !names.every((name) => required.includes(name))) return undefined;
  return { ...copy, additionalProperties: false };
}

/** The strict form of what a keyword contains; undefined if there is no such form. */
function strictPart(keyword: string, value: unknown): unknown {
  if (keyword === 'items') return isSchema(value) ? strictSchema(value) : undefined;
  if (listed.includes(keyword)) {
    const branches = Array.isArray(value) ? value.map((each) => (isSchema(each) ? strictSchema(each) : undefined)) : [];
    return branches.includes(undefined) ? undefined : branches;
  }
  if (!named.includes(keyword) || !isSchema(value)) return value ?? null;
  const entries = Object.entries(value).map(([name, each]) => [name, isSchema(each) ? strictSchema(each) : undefined]);
  return entries.some(([, each]) => each === undefined) ? undefined : Object.fromEntries(entries);
}
