// Makes a message match the input schema of an agent, or refuses it with the schema.

import type { Part, SchemaCheck } from '@pocket-agent/a2a/client';
import { isRecord, stringsIn } from '@pocket-agent/kit';
import { CallFailure } from '../../base/call-failure.ts';
import { isTooDeep } from '../../base/check-input.ts';
import { cleanLine } from '../../base/clean-text.ts';

type Schema = Record<string, unknown>;

interface PayloadOptions {
  schema: Schema;
  check: SchemaCheck;
  /** Whether the card lists application/json. */
  acceptsJson: boolean;
}

const MAX_PROBLEM_LENGTH = 300;
const MAX_SCHEMA_LENGTH = 2000;
const JSON_TYPE = 'application/json';
/** Common names of properties for plain text. */
const textPropertyNames = ['message', 'text', 'query', 'prompt', 'input', 'question', 'task', 'content'];

export async function payloadOf(part: Part, { schema, check, acceptsJson }: PayloadOptions): Promise<Part> {
  const { text } = part;
  if (text === undefined) {
    const problem = await check(schema, part.data);
    if (problem === undefined) return part;
    throw refused(`the message does not match its schema: ${cleanLine(problem, MAX_PROBLEM_LENGTH)}`, schema);
  }
  if (allowsString(schema) && (await check(schema, text)) === undefined) return part;
  for (const data of [parseObject(text), asProperty(text, schema)])
    if (data && (await check(schema, data)) === undefined)
      return acceptsJson
        ? { data, mediaType: JSON_TYPE }
        : { text: JSON.stringify(data), mediaType: part.mediaType ?? 'text/plain' };
  throw refused('the message does not match its schema. Send matching JSON, with inputMode application/json', schema);
}

function allowsString(schema: Schema): boolean {
  const { type } = schema;
  if (type === undefined) return !('properties' in schema) && !('required' in schema);
  return [type].flat().includes('string');
}

/** The text as the one property that is obviously meant for it. */
function asProperty(text: string, schema: Schema): Record<string, string> | undefined {
  const properties = isRecord(schema.properties) ? schema.properties : {};
  const names = Object.keys(properties).filter((name) => isText(properties[name]));
  const required = stringsIn(schema.required);
  const [only] = required.length > 0 ? required : names;
  const isOnly = required.length === 1 || (required.length === 0 && names.length === 1);
  const name = isOnly
    ? only
    : textPropertyNames.find((candidate) => required.length === 0 && names.includes(candidate));
  return name !== undefined && names.includes(name) ? { [name]: text } : undefined;
}

function isText(property: unknown): boolean {
  return isRecord(property) && (property.type === 'string' || '$ref' in property);
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) && !isTooDeep(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function refused(what: string, schema: Schema): CallFailure {
  return new CallFailure(
    'INPUT_INVALID',
    `${what}. Its schema: ${cleanLine(JSON.stringify(schema), MAX_SCHEMA_LENGTH)}`,
  );
}
