// The input schema of a function tool: a Standard Schema such as one of zod, or a JSON Schema.
import type { StandardSchemaV1, Tool } from '@modelcontextprotocol/client';
import { errorText, isRecord, PocketError, schemaIssuesText, snapshot } from '@pocket-agent/kit';
import { checkHere } from '@pocket-agent/schema';

/** A JSON Schema of an object. */
export type JsonSchema = { type?: string; [keyword: string]: unknown };

/** A schema as its tool needs it. */
interface InputSchema {
  json: Tool['inputSchema'];
  /** Returns the arguments as the schema parsed them; throws if they do not match. */
  parse(args: Record<string, unknown>): Promise<unknown>;
}

export function readInputSchema(tool: string, schema: JsonSchema | StandardSchemaV1): InputSchema {
  if (isStandardSchema(schema))
    return { json: sharedSchemaOf(tool, schema), parse: (args) => parseByStandard(tool, schema, args) };
  checkJsonSchema(tool, schema);
  const json = snapshot(objectSchema(tool, schema));
  return { json, parse: (args) => checkByJsonSchema(tool, json, args) };
}

async function parseByStandard(tool: string, schema: StandardSchemaV1, args: unknown): Promise<unknown> {
  const result = await schema['~standard'].validate(args);
  if (result.issues) throw badArguments(tool, schemaIssuesText(result.issues));
  return result.value;
}

async function checkByJsonSchema(tool: string, schema: Tool['inputSchema'], args: unknown): Promise<unknown> {
  const verdict = await checkHere({ schema, value: args });
  if ('fits' in verdict) return args;
  if ('problem' in verdict) throw badArguments(tool, verdict.problem);
  const reason = 'invalid' in verdict ? verdict.invalid : verdict.unchecked;
  throw new PocketError('TOOL_FAILED', `The inputSchema of tool "${tool}" cannot be used: ${reason}`);
}

function badArguments(tool: string, problem: string): PocketError {
  return new PocketError('TOOL_ARGUMENTS_INVALID', `Bad arguments for "${tool}": ${problem}`);
}

function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (isRecord(schema) || typeof schema === 'function') && '~standard' in schema;
}

/** A JSON Schema without `type` has one of these, or nothing at all. */
const SCHEMA_KEYWORDS =
  /^(\$.+|.*[pP]roperties|propertyNames|required|dependen.+|definitions|allOf|anyOf|oneOf|not|if|enum|const|examples)$/;

/** Refuses a plain list of properties, which would be a schema that allows everything. */
function checkJsonSchema(tool: string, schema: JsonSchema): void {
  if (isRecord(schema)) {
    const keys = Object.keys(schema);
    const isDescribed = typeof schema.description === 'string' || typeof schema.title === 'string';
    const isSchema =
      schema.type !== undefined || isDescribed || keys.length === 0 || keys.some((key) => SCHEMA_KEYWORDS.test(key));
    const parts = [...Object.values(schema), ...Object.values(schema.properties ?? {})];
    if (isSchema && !parts.some(isStandardSchema)) return;
  }
  const allowed = "a zod schema, z.object({ … }), or a JSON Schema, { type: 'object', properties: { … } }";
  throw invalidSchema(tool, `must be ${allowed}.`);
}

function objectSchema(tool: string, schema: JsonSchema): Tool['inputSchema'] {
  if (schema.type === undefined || schema.type === 'object') return { ...schema, type: 'object' };
  throw invalidSchema(tool, `must describe an object, not "${schema.type}".`);
}

/** Cache: tools created per agent usually share schema objects. */
const sharedSchemas = new WeakMap<StandardSchemaV1, Tool['inputSchema']>();

function sharedSchemaOf(tool: string, schema: StandardSchemaV1): Tool['inputSchema'] {
  const json = sharedSchemas.get(schema) ?? snapshot(objectSchema(tool, jsonSchemaOf(tool, schema)));
  sharedSchemas.set(schema, json);
  return json;
}

function jsonSchemaOf(tool: string, schema: StandardSchemaV1): JsonSchema {
  const standard: object = schema['~standard'];
  if (!('jsonSchema' in standard))
    throw invalidSchema(tool, 'cannot be converted to JSON Schema: use zod 4.2 or newer, or pass a JSON Schema.');
  const { jsonSchema } = standard as { jsonSchema: { input(options: { target: string }): JsonSchema } };
  try {
    return jsonSchema.input({ target: 'draft-2020-12' });
  } catch (error) {
    throw invalidSchema(tool, `cannot be converted to JSON Schema: ${errorText(error)}`, error);
  }
}

function invalidSchema(tool: string, problem: string, cause?: unknown): PocketError {
  return new PocketError('CONFIG_INVALID', `The inputSchema of tool "${tool}" ${problem}`, { cause });
}
