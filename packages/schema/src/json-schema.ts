// Compiles JSON Schemas with the validator of the MCP SDK. Without kit, so that the checker process starts quickly.
import { isDeepStrictEqual } from 'node:util';
import type {
  JsonSchemaType,
  JsonSchemaValidator,
  JsonSchemaValidatorResult,
  jsonSchemaValidator,
} from '@modelcontextprotocol/client';
import { withDefaults } from './defaults.ts';
import { isSchema, type Schema, unescapePointer } from './references.ts';

/** A copy of the arguments with defaults, or what is wrong with them. */
export type ArgumentCheck = (args: Record<string, unknown>) => { value: Record<string, unknown> } | { problem: string };

type CompiledSchema = { check: ArgumentCheck } | { fault: { path: string[]; message: string } };

const DIALECTS = [
  { pattern: /^http:\/\/json-schema\.org\/draft-0[67]\/schema#?$/, meta: 'http://json-schema.org/draft-07/schema#' },
  { pattern: /2019-09/, meta: 'https://json-schema.org/draft/2019-09/schema' },
];
const NEWEST_DIALECT = 'https://json-schema.org/draft/2020-12/schema';

/** What a schema itself must be, by dialect: the same for all, and slow to compile. */
const described = new Map<string, JsonSchemaValidator<unknown>>();

/** Schemas of the program by their text, least recently used first: the same tools may be loaded several times. */
const compiled = new Map<string, { schema: Schema; outcome: CompiledSchema }>();
const MAX_COMPILED = 100;

/** Compiles a schema of the program itself on this thread. Errors name the place in the schema. */
export async function compileSchema(schema: Schema): Promise<CompiledSchema> {
  const copied = copyOf(schema);
  if (!copied) return compileNew(schema);
  const { text, copy } = copied;
  const known = compiled.get(text);
  compiled.delete(text);
  const isSame = known && isDeepStrictEqual(known.schema, schema); // the text of Infinity is that of null
  const entry = isSame ? known : { schema: copy, outcome: await compileNew(schema) };
  compiled.set(text, entry);
  const [oldest] = compiled.keys();
  if (compiled.size > MAX_COMPILED && oldest !== undefined) compiled.delete(oldest);
  return entry.outcome;
}

/** Undefined for a schema that contains itself, as YAML allows, or a function. */
function copyOf(schema: Schema): { text: string; copy: Schema } | undefined {
  try {
    return { text: JSON.stringify(schema), copy: structuredClone(schema) };
  } catch {
    return undefined;
  }
}

async function compileNew(schema: Schema): Promise<CompiledSchema> {
  const validator = (await validatorMaker())();
  const dialect = schema.$schema ?? NEWEST_DIALECT;
  const meta = DIALECTS.find(({ pattern }) => pattern.test(String(dialect)))?.meta ?? NEWEST_DIALECT;
  try {
    const describe = described.get(meta) ?? validator.getValidator({ $schema: meta, $ref: meta } as JsonSchemaType);
    described.set(meta, describe);
    const itself = describe(schema);
    if (!itself.valid) return { fault: firstFault(itself.errorMessage) };
    const validate = validator.getValidator(schema as JsonSchemaType);
    return {
      check(args) {
        const value = withDefaults(schema, args);
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

/** Compiles any schema. Compiling and checking one from outside may take any time: see foreign-schema.ts. */
export async function schemaCompiler(): Promise<(schema: unknown) => SchemaValidator> {
  const newValidator = await validatorMaker();
  return (schema) => {
    if (!isSchema(schema)) throw new Error('it is not an object');
    const validate = newValidator().getValidator(schema as JsonSchemaType);
    return (value, { defaults }) => problemOf(validate(defaults ? withDefaults(schema, value) : value));
  };
}

/** A new one for each schema: two may have the same $id. */
async function validatorMaker(): Promise<() => jsonSchemaValidator> {
  const { AjvJsonSchemaValidator } = await import('@modelcontextprotocol/client/validators/ajv');
  return () => new AjvJsonSchemaValidator();
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
