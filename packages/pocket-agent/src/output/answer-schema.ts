// The schema of an answer in the forms that models, providers and protocols take.
import type { LanguageModelV4FunctionTool } from '@ai-sdk/provider';
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { configError, isRecord, snapshot } from '@pocket-agent/kit';
import { ownArguments, type RepairedSchema, repairSchema, schemaFault, strictSchema } from '@pocket-agent/schema';
import { FINAL_ANSWER } from '../base/tool-names.ts';
import {
  type CheckedValue,
  isStandardSchema,
  type JsonSchema,
  jsonSchemaOf,
  readValueSchema,
  type ValueSchema,
} from '../base/value-schema.ts';

const OWNER = 'The output schema';

export class AnswerSchema {
  /** Cache: runs usually share schema objects. */
  static readonly #known = new WeakMap<object, AnswerSchema>();

  /** The schema for the model: always an object, because providers accept no other root. */
  readonly asked: JsonSchema;
  readonly #given: JsonSchema | StandardSchemaV1;
  readonly #value: ValueSchema;
  /** The answer is the property `value` of what the model writes. */
  readonly #isWrapped: boolean;
  readonly #definitions = new Map<string, LanguageModelV4FunctionTool>();
  #strict: { schema: JsonSchema | undefined } | undefined;
  #repaired: RepairedSchema | undefined;
  #shared: JsonSchema | undefined;

  private constructor(given: JsonSchema | StandardSchemaV1) {
    this.#given = given;
    this.#value = readValueSchema(OWNER, given, { guarded: true });
    this.#isWrapped = !isObjectSchema(this.#value.json);
    this.asked = this.#isWrapped ? snapshot(wrapped(this.#value.json)) : this.#value.json;
  }

  static of(given: JsonSchema | StandardSchemaV1): AnswerSchema {
    const known = AnswerSchema.#known.get(given) ?? new AnswerSchema(given);
    AnswerSchema.#known.set(given, known);
    return known;
  }

  /** For providers that enforce only closed objects without optional properties; undefined for other schemas. */
  get strict(): JsonSchema | undefined {
    this.#strict ??= { schema: snapshot(strictSchema(this.asked)) };
    return this.#strict.schema;
  }

  /** The schema for other programs: of the value after transforms and defaults, as an object. */
  get shared(): JsonSchema {
    if (this.#shared) return this.#shared;
    const schema = (isStandardSchema(this.#given) ? parsedSchema(this.#given) : this.#given) ?? { type: 'object' };
    this.#shared = snapshot(isObjectSchema(schema) ? schema : wrapped(schema));
    if (!isObjectSchema(schema)) wrappedSchemas.add(this.#shared);
    return this.#shared;
  }

  /** The tool that the model calls with its answer. The same object every time. */
  definition(name: string): LanguageModelV4FunctionTool {
    const known = this.#definitions.get(name) ?? this.#newDefinition(name);
    this.#definitions.set(name, known);
    return known;
  }

  /** Why it cannot be used; undefined if it can. */
  fault(): Promise<string | undefined> {
    return this.#value.fault();
  }

  /** Checks JSON that the model wrote as text or as arguments. */
  async check(written: unknown): Promise<CheckedValue> {
    const answer = this.answerIn(written);
    return this.#value.check(answer === undefined ? written : answer);
  }

  /** The answer in what the model wrote, also in a part of it; undefined if it has not begun. */
  answerIn(written: unknown): unknown {
    if (!isRecord(written)) return written;
    if (this.#isWrapped) return written.value;
    return ownArguments(written, this.#repaired?.ownNames);
  }

  #newDefinition(name: string): LanguageModelV4FunctionTool {
    this.#repaired ??= repairSchema(this.asked);
    const { description } = this.#value.json;
    const about = typeof description === 'string' ? `${FINAL_ANSWER} The answer: ${description}` : FINAL_ANSWER;
    return Object.freeze({ type: 'function', name, description: about, inputSchema: this.#repaired.schema });
  }
}

/** Schemas of `shared` whose value is their property `value`. */
const wrappedSchemas = new WeakSet<JsonSchema>();

/** The answer as a value of the schema `shared`; undefined if it is not an object. */
export function structuredAnswer(shared: JsonSchema, answer: unknown): Record<string, unknown> | undefined {
  if (wrappedSchemas.has(shared)) return { value: answer };
  return isRecord(answer) ? answer : undefined;
}

function isObjectSchema({ type }: JsonSchema): boolean {
  return type === 'object';
}

/** A schema whose root is not an object becomes the property `value` of one. References within it still lead there. */
function wrapped({ $schema, ...schema }: JsonSchema): JsonSchema {
  const moved = JSON.parse(textOf(schema), (key, value) =>
    key === '$ref' && typeof value === 'string' && value.startsWith('#')
      ? `#/properties/value${value.slice(1)}`
      : value,
  );
  return {
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    properties: { value: moved },
    required: ['value'],
    additionalProperties: false,
  };
}

function textOf(schema: JsonSchema): string {
  try {
    return JSON.stringify(schema);
  } catch (error) {
    throw configError(`${OWNER} cannot be used: ${schemaFault(error)}.`, error);
  }
}

/** Undefined for values that JSON Schema cannot describe, such as the result of a transform. */
function parsedSchema(schema: StandardSchemaV1): JsonSchema | undefined {
  try {
    return jsonSchemaOf(OWNER, schema, 'output');
  } catch {
    return undefined;
  }
}
