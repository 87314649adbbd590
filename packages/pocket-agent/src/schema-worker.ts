// The code of a worker thread: compiles schemas from outside and checks values against them, one at a time.
// It imports no module of the core, which would be loaded in every thread.
import { parentPort } from 'node:worker_threads';
import { compileValidator, type SchemaValidator } from './json-schema.ts';
import type { ThreadTask, Verdict } from './schema-thread.ts';

/** A compiled schema takes a multiple of its text, and the thread is shared: it must not run out of memory for others. */
const MOST_COMPILED_CHARACTERS = 2_000_000;
const CHARACTERS_PER_SCHEMA = 10_000;
const LONGEST_TEXT = 2_000;

/** By their text, least recently used first. */
const compiled = new Map<string, SchemaValidator>();
let compiledCharacters = 0;

// the validator logs what schemas contain, which is for nobody to read
for (const method of ['log', 'info', 'warn', 'error'] as const) console[method] = () => {};

await compileValidator({});
parentPort?.postMessage('ready');
// after that: the time limit of a check starts when the thread is ready, so none may begin before
parentPort?.on('message', async (task: ThreadTask) => parentPort?.postMessage(await verdictOn(task)));

async function verdictOn({ schema, value, defaults }: ThreadTask): Promise<Verdict> {
  let validate: SchemaValidator;
  try {
    validate = await validatorFor(schema);
  } catch (error) {
    return { invalid: textOf(error) };
  }
  if (value === undefined) return { fits: true };
  try {
    const problem = validate(JSON.parse(value), { defaults });
    return problem === undefined ? { fits: true } : { problem: problem.slice(0, LONGEST_TEXT) };
  } catch (error) {
    return { unchecked: textOf(error) };
  }
}

async function validatorFor(schema: string): Promise<SchemaValidator> {
  const known = compiled.get(schema);
  if (!known) makeRoomFor(schema);
  const validate = known ?? (await compileValidator(JSON.parse(schema)));
  if (!known) compiledCharacters += sizeOf(schema);
  compiled.delete(schema);
  compiled.set(schema, validate);
  return validate;
}

function makeRoomFor(schema: string): void {
  for (const oldest of compiled.keys()) {
    if (compiledCharacters + sizeOf(schema) <= MOST_COMPILED_CHARACTERS) return;
    compiled.delete(oldest);
    compiledCharacters -= sizeOf(oldest);
  }
}

const sizeOf = (schema: string) => schema.length + CHARACTERS_PER_SCHEMA;

function textOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).slice(0, LONGEST_TEXT);
}
