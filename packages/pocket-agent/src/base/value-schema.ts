// A schema for values from a model: a Standard Schema such as one of zod, or a JSON Schema of the program.
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { configError, errorText, isRecord, schemaIssueTexts, snapshot } from '@pocket-agent/kit';
import { checkGuarded, checkHere, schemaFault, schemaMistake, type Verdict } from '@pocket-agent/schema';

/** A JSON Schema as a plain object, for tools and answers without zod. */
export type JsonSchema = { type?: string; [keyword: string]: unknown };

/** The value as the schema parsed it, what is wrong with it, or why the schema itself cannot be used. */
export type CheckedValue = { value: unknown } | { problems: string[] } | { unusable: string };

export interface ValueSchema {
  /** The JSON Schema for the model. */
  json: JsonSchema;
  check(value: unknown): Promise<CheckedValue>;
  /** Why the schema itself cannot be used; undefined if it can. */
  fault(): Promise<string | undefined>;
}

interface ReadOptions {
  /** Patterns of a JSON Schema are run in another process, so that no value can block this one. */
  guarded?: boolean;
}

/** `what` names the schema in errors: "The inputSchema of tool …". */
export function readValueSchema(
  what: string,
  schema: JsonSchema | StandardSchemaV1,
  options: ReadOptions = {},
): ValueSchema {
  if (isStandardSchema(schema)) {
    const json = sharedJsonSchema(what, schema);
    const validates = typeof schema['~standard'].validate === 'function';
    return validates
      ? { json, check: (value) => checkByStandard(schema, value), fault: async () => undefined }
      : byJsonSchema(json, options);
  }
  checkJsonSchema(what, schema);
  const copy = copyOf(what, schema);
  const mistake = schemaMistake(copy);
  if (mistake !== undefined) throw configError(`${what} cannot be used: ${mistake}`);
  return byJsonSchema(copy, options);
}

function copyOf(what: string, schema: JsonSchema): JsonSchema {
  try {
    return snapshot(schema);
  } catch (error) {
    throw configError(`${what} cannot be used: ${schemaFault(error)}.`, error);
  }
}

function byJsonSchema(json: JsonSchema, { guarded = false }: ReadOptions): ValueSchema {
  return {
    json,
    check: async (value) => checkedValue(value, await (guarded ? checkGuarded : checkHere)({ schema: json, value })),
    async fault() {
      const checked = checkedValue(undefined, await checkHere({ schema: json }));
      return 'unusable' in checked ? checked.unusable : undefined;
    },
  };
}

export function isStandardSchema(schema: unknown): schema is StandardSchemaV1 {
  return (isRecord(schema) || typeof schema === 'function') && '~standard' in schema && isRecord(schema['~standard']);
}

/** `input` is what a model writes; `output` is what the schema parsed from it, after transforms and defaults. */
export function jsonSchemaOf(what: string, schema: StandardSchemaV1, side: 'input' | 'output'): JsonSchema {
  const { vendor, jsonSchema }: SchemaLibrary = schema['~standard'];
  if (!jsonSchema) throw configError(`${what} cannot be converted to JSON Schema: ${wayOut(vendor)}.`);
  const errors: unknown[] = [];
  for (const target of ['draft-2020-12', 'draft-07']) {
    try {
      return jsonSchema[side]({ target });
    } catch (error) {
      errors.push(error);
    }
  }
  const [error] = errors;
  const text = errorText(error);
  const advice = /^Date cannot/.test(text) ? `. ${DATE_ADVICE}` : '';
  throw configError(`${what} cannot be converted to JSON Schema: ${text}${advice}`, error);
}

/** JSON has no dates; zod does not say what the input of z.coerce.date() is. */
const DATE_ADVICE =
  'Let the model write a string: z.iso.datetime().transform((text) => new Date(text)), or z.iso.date() for a day.';

/** The interface Standard JSON Schema, which some libraries offer. */
interface SchemaLibrary {
  vendor: string;
  jsonSchema?: Record<'input' | 'output', (options: { target: string }) => JsonSchema>;
}

/** Functions of libraries whose schemas offer JSON Schema only through them. */
const converters: Readonly<Record<string, string>> = {
  valibot: 'toStandardJsonSchema(schema) of @valibot/to-json-schema',
  effect: 'Schema.toStandardJSONSchemaV1(Schema.toStandardSchemaV1(schema))',
  zod: 'a schema of zod 4.2 or newer',
};

function wayOut(vendor: string): string {
  const converter = converters[vendor];
  const own = `this schema of ${vendor} does not offer it (Standard JSON Schema)`;
  return `${own}; pass ${converter ?? 'a schema of a library that does, such as zod 4.2 or ArkType'}, or a JSON Schema`;
}

async function checkByStandard(schema: StandardSchemaV1, value: unknown): Promise<CheckedValue> {
  if (isZodSchema(schema)) {
    const { error, data } = await schema.safeParseAsync(value);
    return error ? { problems: schemaIssueTexts(error.issues) } : { value: data };
  }
  const result = await schema['~standard'].validate(value);
  return result.issues ? { problems: schemaIssueTexts(result.issues) } : { value: result.value };
}

interface ZodSchema extends StandardSchemaV1 {
  safeParseAsync(value: unknown): Promise<{ data?: unknown; error?: { issues: readonly StandardSchemaV1.Issue[] } }>;
}

/** `validate` of zod runs an asynchronous check twice; if it rejects, the first run ends the program. */
function isZodSchema(schema: StandardSchemaV1): schema is ZodSchema {
  return schema['~standard'].vendor === 'zod' && 'safeParseAsync' in schema;
}

function checkedValue(value: unknown, verdict: Verdict): CheckedValue {
  if ('fits' in verdict) return { value };
  if ('problem' in verdict) return { problems: verdict.problem.split('; ') };
  const reason = 'invalid' in verdict ? verdict.invalid : verdict.unchecked;
  const advice = 'this runtime does not allow code generation, which JSON Schemas need; use a zod schema';
  return { unusable: /Code generation from strings/.test(reason) ? advice : reason };
}

/** A JSON Schema without `type` has one of these, or nothing at all. */
const SCHEMA_KEYWORDS =
  /^(\$.+|.*[pP]roperties|propertyNames|required|dependen.+|definitions|allOf|anyOf|oneOf|not|if|enum|const|examples)$/;

/** Refuses a plain list of properties, which would be a schema that allows everything. */
function checkJsonSchema(what: string, schema: JsonSchema): void {
  if (isRecord(schema)) {
    const keys = Object.keys(schema);
    const isDescribed = typeof schema.description === 'string' || typeof schema.title === 'string';
    const isSchema =
      schema.type !== undefined || isDescribed || keys.length === 0 || keys.some((key) => SCHEMA_KEYWORDS.test(key));
    const parts = [...Object.values(schema), ...Object.values(schema.properties ?? {})];
    if (isSchema && !parts.some(isStandardSchema)) return;
  }
  const allowed = "a zod schema, z.object({ … }), or a JSON Schema, { type: 'object', properties: { … } }";
  throw configError(`${what} must be ${allowed}.`);
}

/** Cache: tools created per agent, and runs of an agent, usually share schema objects. */
const sharedSchemas = new WeakMap<StandardSchemaV1, JsonSchema>();

function sharedJsonSchema(what: string, schema: StandardSchemaV1): JsonSchema {
  const json = sharedSchemas.get(schema) ?? snapshot(jsonSchemaOf(what, schema, 'input'));
  sharedSchemas.set(schema, json);
  return json;
}
