// The input schema of a function tool: a Standard Schema such as one of zod, or a JSON Schema.
import type { StandardSchemaV1, Tool } from '@modelcontextprotocol/client';
import { configError, PocketError, snapshot } from '@pocket-agent/kit';
import { type JsonSchema, readValueSchema, type ValueSchema } from '../base/value-schema.ts';

/** A schema as its tool needs it. */
interface InputSchema {
  json: Tool['inputSchema'];
  /** Returns the arguments as the schema parsed them; throws if they do not match. */
  parse(args: Record<string, unknown>): Promise<unknown>;
}

export function readInputSchema(tool: string, schema: JsonSchema | StandardSchemaV1): InputSchema {
  const what = `The inputSchema of tool "${tool}"`;
  const read = readValueSchema(what, schema);
  const json = objectSchemas.get(read.json) ?? snapshot(objectSchema(what, read.json));
  objectSchemas.set(read.json, json);
  return { json, parse: (args) => parse(tool, read, args) };
}

/** Cache: tools created per agent usually share schema objects. */
const objectSchemas = new WeakMap<JsonSchema, Tool['inputSchema']>();

async function parse(tool: string, schema: ValueSchema, args: unknown): Promise<unknown> {
  const checked = await schema.check(args);
  if ('value' in checked) return checked.value;
  if ('problems' in checked) {
    const text = `Bad arguments for "${tool}": ${checked.problems.join('; ')}`;
    throw new PocketError('TOOL_ARGUMENTS_INVALID', text);
  }
  throw new PocketError('TOOL_FAILED', `The inputSchema of tool "${tool}" cannot be used: ${checked.unusable}`);
}

function objectSchema(what: string, schema: JsonSchema): Tool['inputSchema'] {
  if (schema.type === undefined || schema.type === 'object') return { ...schema, type: 'object' };
  throw configError(`${what} must describe an object, not "${schema.type}".`);
}
