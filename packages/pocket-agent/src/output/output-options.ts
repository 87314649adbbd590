// The option `output`: the schema that the answer of a run must fit, and how the model is asked for it.
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { isRecord, OptionSet, oneOf, readable } from '@pocket-agent/kit';
import { isStandardSchema, type JsonSchema } from '../base/value-schema.ts';
import { AnswerSchema } from './answer-schema.ts';

const modes = ['auto', 'native', 'tool'] as const;

/**
 * native: the provider enforces the schema. tool: the model calls a tool `final_answer` with the answer as arguments.
 * auto (default): native for agents without tools where the provider enforces schemas, else tool.
 */
export type OutputMode = (typeof modes)[number];

/** A zod schema, another Standard Schema, or a JSON Schema. */
export type OutputSchema<Value> = StandardSchemaV1<unknown, Value> | JsonSchema;

/** A schema for the answer, with how it is asked for and how often a wrong answer is sent back. */
export interface OutputSettings<Schema> {
  schema: Schema;
  mode?: OutputMode;
  /** How often an answer that does not fit goes back to the model with its problems. Default 1. */
  retries?: number;
}

/** The output of a run. With a JSON Schema, name the type of the value: `agent.run<Report>(…)`. */
export type OutputOption<Value> = OutputSchema<Value> | OutputSettings<OutputSchema<Value>>;

/** TypeScript cannot infer the answer of an agent from a JSON Schema: write `new PocketAgent<Report>(…)`. */
type AgentSchema<Answer> =
  | StandardSchemaV1<unknown, Answer>
  | ([string, Answer] extends [Answer, string] ? never : JsonSchema);

/** The output of every run of an agent. */
export type AgentOutput<Answer> = AgentSchema<Answer> | OutputSettings<AgentSchema<Answer>>;

/** An output that was read and checked. */
export interface Output {
  readonly schema: AnswerSchema;
  readonly mode: OutputMode;
  readonly retries: number;
}

const settingsRules = new OptionSet<OutputSettings<unknown>>('output', {
  schema: true,
  mode: oneOf(...modes),
  retries: { expected: 'a whole number, 0 or more', accepts: (value) => Number.isInteger(value) && Number(value) >= 0 },
});

/** Undefined for undefined and null. */
export function readOutput(option: OutputOption<unknown> | null | undefined): Output | undefined {
  if (option === undefined || option === null) return undefined;
  return readable('output', () => readGiven(option));
}

function readGiven(option: OutputOption<unknown>): Output {
  if (!isSettings(option)) return { schema: AnswerSchema.of(option), mode: 'auto', retries: 1 };
  settingsRules.check(option);
  const { schema, mode = 'auto', retries = 1 } = option;
  return { schema: AnswerSchema.of(schema), mode, retries };
}

/** `schema` is not a keyword of JSON Schema. */
function isSettings(option: OutputOption<unknown>): option is OutputSettings<OutputSchema<unknown>> {
  return isRecord(option) && !isStandardSchema(option) && 'schema' in option;
}
