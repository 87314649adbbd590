// Checks values against schemas from outside (MCP servers, agent cards) in child processes: a pattern can backtrack
// for years and defaults can grow exponentially, and neither may block or end the program.
import { errorText, onAbort } from '@pocket-agent/kit';
import type { SchemaValidator } from './json-schema.ts';
import type { CheckTask, Verdict } from './schema-checker.ts';
import { SchemaProcess } from './schema-process.ts';

export type { Verdict } from './schema-checker.ts';

/** A check against a schema that a third party wrote, so it runs in another process. */
export interface ForeignCheck {
  schema: unknown;
  /** Leave it out to learn only whether the schema can be used. */
  value?: unknown;
  /** Fill in the schema's defaults before checking the value. */
  defaults?: boolean;
  /** Who sent the schema. An origin uses one process at a time, so it cannot hold up the checks of others. */
  origin: unknown;
  signal?: AbortSignal | undefined;
}

type OwnCheck = Pick<ForeignCheck, 'value' | 'defaults'> & { schema: object };

interface Job {
  task: CheckTask;
  process: SchemaProcess | undefined;
  resolve(verdict: Verdict): void;
}

/** The checks of one origin, in order. */
interface Queue {
  waiting: Job[];
  characters: number;
  running: Job | undefined;
}

/** The time limit of a check in milliseconds. Only test/check-limit.ts changes it. */
export const checkLimit = { ms: 2_000 };

const MAX_PROCESSES = 4;
const MAX_SCHEMA_CHARACTERS = 1_000_000;
/** An MCP message may have fewer. A value that takes too much memory once it is parsed ends only its process. */
const MAX_VALUE_CHARACTERS = 11_000_000;
/** The most characters that wait for one origin. */
const MAX_QUEUED_CHARACTERS = 50_000_000;
const CHARACTERS_PER_JOB = 1_000;

/** By origin, the one that waits longest first. */
const queues = new Map<unknown, Queue>();
const processes = new Set<SchemaProcess>();

/** Checks a value against a schema from outside, in another process. Rejects only when the signal is aborted. */
export async function checkForeign({ origin, signal, ...check }: ForeignCheck): Promise<Verdict> {
  signal?.throwIfAborted();
  const task = taskFor(check);
  if ('unchecked' in task) return task;
  const queue = queues.get(origin) ?? { waiting: [], characters: 0, running: undefined };
  if (queue.characters + sizeOf(task) > MAX_QUEUED_CHARACTERS) return { unchecked: 'too many checks are waiting' };
  const { promise, resolve, reject } = Promise.withResolvers<Verdict>();
  const job: Job = { task, process: undefined, resolve };
  queues.set(origin, queue);
  queue.waiting.push(job);
  queue.characters += sizeOf(task);
  startJobs();
  if (!signal) return promise;
  const release = onAbort(signal, (reason) => {
    reject(reason);
    cancel(job, queue, origin);
  });
  return promise.finally(release);
}

const compiled = new WeakMap<object, Promise<SchemaValidator>>();

/** On this thread, for a schema that the program itself wrote. */
export async function checkHere({ schema, value, defaults = false }: OwnCheck): Promise<Verdict> {
  try {
    const known = compiled.get(schema) ?? compile(schema);
    compiled.set(schema, known);
    const problem = (await known)(value, { defaults });
    return problem === undefined ? { fits: true } : { problem };
  } catch (error) {
    return { invalid: schemaFault(error) };
  }
}

/** For a schema of the program and a value from outside: in another process if a pattern could take years for it. */
export function checkGuarded(check: OwnCheck): Promise<Verdict> {
  const { schema } = check;
  const hasPattern = withPatterns.get(schema) ?? textOf(schema).includes('"pattern');
  withPatterns.set(schema, hasPattern);
  return hasPattern ? checkForeign({ ...check, origin: schema }) : checkHere(check);
}

const withPatterns = new WeakMap<object, boolean>();

function textOf(schema: object): string {
  try {
    return JSON.stringify(schema);
  } catch {
    return ''; // it cannot be used, and the check says why
  }
}

/** Why a schema could not be copied, compiled or applied. */
export function schemaFault(error: unknown): string {
  const text = errorText(error);
  const isEndless = error instanceof RangeError || text.startsWith('Converting circular structure');
  return isEndless ? 'it contains itself or is nested too deeply; refer to a part of "$defs" by "$ref"' : text;
}

async function compile(schema: object): Promise<SchemaValidator> {
  const { schemaCompiler } = await import('./json-schema.ts');
  return (await schemaCompiler())(schema);
}

/** JSON text on both sides: its size is known, and a process can do nothing with it but parse it. */
function taskFor({ schema, value, defaults = false }: Omit<ForeignCheck, 'origin'>): CheckTask | { unchecked: string } {
  try {
    const limitMs = checkLimit.ms;
    const task = { schema: JSON.stringify(schema), value: JSON.stringify(value), defaults, limitMs };
    if (task.schema.length > MAX_SCHEMA_CHARACTERS)
      return { unchecked: `the schema is longer than ${MAX_SCHEMA_CHARACTERS} characters` };
    if ((task.value?.length ?? 0) > MAX_VALUE_CHARACTERS)
      return { unchecked: `the value is longer than ${MAX_VALUE_CHARACTERS} characters` };
    return task;
  } catch (error) {
    return { unchecked: `it cannot be written as JSON (${errorText(error)})` };
  }
}

function sizeOf({ schema, value = '' }: CheckTask): number {
  return schema.length + value.length + CHARACTERS_PER_JOB;
}

function startJobs(): void {
  let running = [...queues.values()].filter((queue) => queue.running).length;
  for (const [origin, queue] of queues) {
    if (running >= MAX_PROCESSES) return;
    if (queue.running) continue;
    running++;
    void runNext(origin, queue);
  }
}

async function runNext(origin: unknown, queue: Queue): Promise<void> {
  const job = queue.waiting.shift();
  if (job) {
    queue.running = job;
    job.resolve(await verdictOn(job));
    queue.running = undefined;
    queue.characters -= sizeOf(job.task);
  }
  queues.delete(origin);
  if (queue.waiting.length > 0) queues.set(origin, queue);
  startJobs();
}

async function verdictOn(job: Job): Promise<Verdict> {
  try {
    job.process = [...processes].find(({ isBusy }) => !isBusy) ?? newProcess();
    return await job.process.run(job.task);
  } catch (error) {
    return { unchecked: `no process could be started for it (${errorText(error)})` };
  }
}

function newProcess(): SchemaProcess {
  const started = new SchemaProcess(() => processes.delete(started));
  processes.add(started);
  return started;
}

function cancel(job: Job, queue: Queue, origin: unknown): void {
  if (queue.running === job) job.process?.stop('it was cancelled');
  const index = queue.waiting.indexOf(job);
  if (index < 0) return;
  queue.waiting.splice(index, 1);
  queue.characters -= sizeOf(job.task);
  if (queue.waiting.length === 0 && !queue.running) queues.delete(origin);
}
