// The program of a child process: compiles schemas from outside and checks values against them, one at a time.
import { createContext, runInContext } from 'node:vm';
import { type SchemaValidator, schemaCompiler } from './json-schema.ts';

/** The outcome of a check in the other process. */
export type Verdict =
  | { fits: true }
  /** What is wrong with the value. */
  | { problem: string }
  /** What is wrong with the schema. */
  | { invalid: string }
  /** Why the check did not finish. */
  | { unchecked: string };

export interface CheckTask {
  /** JSON text. */
  schema: string;
  /** JSON text; undefined to compile the schema only. */
  value?: string;
  defaults: boolean;
  limitMs: number;
}

/** On a busy machine, where a check may wait long for a processor, it gets up to this multiple of its time limit. */
const MAX_EXTENSION = 4;
/** A compiled schema takes a multiple of its text. */
const MAX_COMPILED_CHARACTERS = 2_000_000;
const CHARACTERS_PER_SCHEMA = 10_000;
const MAX_TEXT_LENGTH = 2_000;

/** By their text, least recently used first. */
const compiled = new Map<string, SchemaValidator>();
let compiledCharacters = 0;

// Ctrl-C in a terminal reaches every process of the program; this one ends with the program
process.on('SIGINT', () => {});

const compile = await schemaCompiler();
compile({});
const context = createContext({ check, task: undefined });
process.on('message', (task: CheckTask) => process.send?.(verdictOn(task)));
process.send?.('ready');

/** As a script, since only a script can have a time limit. */
function verdictOn(task: CheckTask, limitMs = task.limitMs): Verdict {
  const before = process.cpuUsage();
  try {
    return runInContext('check(task)', Object.assign(context, { task }), { timeout: limitMs });
  } catch (error) {
    if (!isTimeout(error)) return { unchecked: textOf(error) };
    const { user, system } = process.cpuUsage(before);
    const hadToWait = user + system < (task.limitMs * 1_000) / 2;
    if (hadToWait && limitMs < MAX_EXTENSION * task.limitMs) return verdictOn(task, 2 * limitMs);
    return { unchecked: `it took longer than ${limitMs} ms` };
  }
}

function check({ schema, value, defaults }: CheckTask): Verdict {
  let validate: SchemaValidator;
  try {
    validate = validatorFor(schema);
  } catch (error) {
    return { invalid: textOf(error) };
  }
  if (value === undefined) return { fits: true };
  const problem = validate(JSON.parse(value), { defaults });
  return problem === undefined ? { fits: true } : { problem: problem.slice(0, MAX_TEXT_LENGTH) };
}

function validatorFor(schema: string): SchemaValidator {
  const known = compiled.get(schema);
  const validate = known ?? compile(JSON.parse(schema));
  if (known) compiled.delete(schema);
  else makeRoomFor(schema);
  compiled.set(schema, validate);
  return validate;
}

function makeRoomFor(schema: string): void {
  compiledCharacters += sizeOf(schema);
  for (const oldest of compiled.keys()) {
    if (compiledCharacters <= MAX_COMPILED_CHARACTERS) return;
    compiled.delete(oldest);
    compiledCharacters -= sizeOf(oldest);
  }
}

const sizeOf = (schema: string) => schema.length + CHARACTERS_PER_SCHEMA;

function isTimeout(error: unknown): boolean {
  return (error as { code?: unknown } | undefined)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT';
}

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, MAX_TEXT_LENGTH);
}
