// The options of runs, and checks of what callers pass.
import {
  booleanRule,
  checkValue,
  configError,
  errorText,
  functionRule,
  isRecord,
  millisecondsUpTo,
  nonEmptyRule,
  nullable,
  type OptionRule,
  OptionSet,
  objectRule,
  oneOf,
  positiveInteger,
  textOfLength,
} from '@pocket-agent/kit';
import type { Logger, Message, PocketAgent, RunOptions, UserInput } from 'pocket-agent';
import type { QuestionAnswer } from './events.ts';
import { RunError } from './run-error.ts';
import type { QuestionTable, RunStatus } from './schema.ts';

/** The database of runs, and the agents that this process runs from it. */
export interface RunsOptions {
  /** `sqlite:` and a file, created if missing, or `postgres://…` for several machines, which needs pg-boss. */
  url: string;
  /**
   * The agents that this process runs, by name. Each is made once; every run uses a fork of it. Without agents this process
   * only starts, reads, answers and cancels runs.
   */
  agents?: Readonly<Record<string, () => PocketAgent<unknown> | Promise<PocketAgent<unknown>>>>;
  /** Runs that this process advances at the same time. Default 10. */
  maxParallelRuns?: number;
  /** Runs that are advanced at the same time for one agent and one `caller`, by all processes together. Default: no limit. */
  maxParallelRunsPerCaller?: number;
  /** Questions without an answer are denied after this time. Default: never. */
  questionsExpireAfterMs?: number;
  logger?: Logger;
}

/** What applies to one run: its id, its caller, its time. */
export interface StartOptions {
  /** Default: a random UUID. */
  id?: string;
  /** As in `run(input, { caller })`. */
  caller?: string;
  /** As in `run(input, { profile })`. */
  profile?: RunOptions['profile'];
  /** From the start, waiting included; then the run fails with `TIMEOUT`. Default: no limit. */
  timeoutMs?: number;
  /**
   * Runs with the same id take turns, and each begins with the messages of the earlier ones. Choose ids that other callers
   * cannot use.
   */
  conversation?: string;
  /** The run begins with these messages instead of those of earlier runs, to remove turns of a conversation. */
  messages?: readonly Message[];
  /** JSON that is kept for the program that starts the run. No model sees it. */
  about?: Readonly<Record<string, unknown>>;
  /** The program delivers the answer itself: until `delivered()`, `list({ undelivered: true })` has the run. Default false. */
  deliver?: boolean;
}

/** Which runs to list, and which page of them. */
export interface ListRunsOptions {
  agent?: string;
  caller?: string;
  status?: RunStatus;
  conversation?: string;
  /** The first characters of the ids. */
  prefix?: string;
  /** Only runs that were started with `deliver`, and are not `delivered()`. */
  undelivered?: true;
  /** Default 100, at most 1,000. */
  limit?: number;
  /** `next` of the page before. */
  cursor?: string;
}

/** When to start which agent, with what input. */
export interface ScheduleOptions {
  /** Five fields, or six with seconds: `0 9 * * 1-5`. */
  cron: string;
  /** Default: UTC. */
  timeZone?: string;
  agent: string;
  input: string | UserInput;
  caller?: string;
  /** Times at which no process ran: one run for all of them, or none. Default skip. */
  missed?: 'once' | 'skip';
}

/** Which schedules to list. */
export interface ListSchedulesOptions {
  /** The first characters of the names. */
  prefix?: string;
}

/** Which open questions to list. */
export interface QuestionFilter {
  agent?: string;
  caller?: string;
  run?: string;
  limit?: number;
}

const MAX_ID_LENGTH = 512;
const MAX_PAGE = 1_000;
/** The largest integer of PostgreSQL. */
const MAX_NUMBER = 2 ** 31 - 1;
/** A thousand years. */
const MAX_MS = 1_000 * 365 * 86_400_000;
const statuses = ['queued', 'running', 'waiting', 'finished', 'failed', 'cancelled'];

const limit: OptionRule = {
  expected: `a whole number from 1 to ${MAX_PAGE}`,
  accepts: (value) => Number.isInteger(value) && Number(value) > 0 && Number(value) <= MAX_PAGE,
};
const id = textOfLength(1, MAX_ID_LENGTH);
const text = textOfLength(0, MAX_ID_LENGTH);
const nullableId = nullable(id.expected, id.accepts);
const milliseconds = millisecondsUpTo(MAX_MS);

const scheduleName = textOfLength(1, MAX_ID_LENGTH - '@2026-11-19T08:00:00.000Z'.length); // the ids of its runs contain it
const timeZone: OptionRule = {
  expected: 'a time zone, such as "Europe/Berlin"',
  accepts: (value) => typeof value === 'string' && isTimeZone(value),
};

const runsOptions = new OptionSet<RunsOptions>('openRuns()', {
  url: { ...nonEmptyRule, isSecret: true },
  agents: { ...objectRule, part: functionRule },
  maxParallelRuns: positiveInteger,
  maxParallelRunsPerCaller: positiveInteger,
  questionsExpireAfterMs: milliseconds,
  logger: objectRule,
});
const startOptions = new OptionSet<StartOptions>('start()', {
  id,
  caller: nullableId,
  profile: nullable('a profile, or a list of them', () => true),
  timeoutMs: milliseconds,
  conversation: id,
  messages: nullable('a list of messages', Array.isArray),
  about: objectRule,
  deliver: booleanRule,
});
const schedule = new OptionSet<ScheduleOptions>('schedule()', {
  cron: nonEmptyRule,
  timeZone: nullable(timeZone.expected, timeZone.accepts),
  agent: id,
  input: true,
  caller: nullableId,
  missed: oneOf('once', 'skip'),
});
const listOptions = new OptionSet<ListRunsOptions>('list()', {
  agent: nullableId,
  caller: nullableId,
  status: oneOf(...statuses),
  conversation: nullableId,
  prefix: text,
  undelivered: booleanRule,
  limit,
  cursor: nullableId,
});
const scheduleList = new OptionSet<ListSchedulesOptions>('schedules()', { prefix: text });
const filter = new OptionSet<QuestionFilter>('questions()', {
  agent: nullableId,
  caller: nullableId,
  run: nullableId,
  limit,
});

/** Either `file`, or `url` of PostgreSQL. */
type ReadOptions = Omit<RunsOptions, 'url'> & { file: string | undefined; url: string | undefined };

export function readRunsOptions(options: RunsOptions): ReadOptions {
  checkValue('The options of openRuns()', options, objectRule);
  runsOptions.check(options);
  const { url, ...others } = options;
  if (/^postgres(ql)?:\/\//.test(url ?? '')) return { ...others, url, file: undefined };
  const [, file] = /^sqlite:(?:\/\/)?(.+)$/.exec(url ?? '') ?? [];
  if (file !== undefined) return { ...others, file, url: undefined };
  throw configError(`openRuns() needs url: 'sqlite:' and a file, such as { url: 'sqlite:runs.db' }, or postgres://….`);
}

export function checkSchedule(name: string, options: ScheduleOptions): void {
  checkValue('The name of a schedule', name, scheduleName);
  check(schedule, options);
  checkValue('schedule(): cron', options.cron, nonEmptyRule);
  checkValue('schedule(): agent', options.agent, id);
}

export function checkScheduleList(options: ListSchedulesOptions): void {
  check(scheduleList, options);
}

export function readStartOptions(agent: string, options: StartOptions): StartOptions {
  checkValue('The name of an agent', agent, id);
  check(startOptions, options);
  return options;
}

export function checkListOptions(options: ListRunsOptions): void {
  check(listOptions, options);
}

export function checkFilter(options: QuestionFilter): void {
  check(filter, options);
}

/** `what`: a run, or a question. */
export function checkId(what: string, value: string): void {
  checkValue(`The id of ${what}`, value, id);
}

/** The number of an event. */
export function checkNumber(name: string, value: number): void {
  checkValue(name, value, wholeUpTo(MAX_NUMBER));
}

export function checkAge(name: string, value: number): void {
  checkValue(name, value, wholeUpTo(MAX_MS));
}

function wholeUpTo(max: number): OptionRule {
  const accepts = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= max;
  return { expected: `a whole number from 0 to ${max}`, accepts };
}

function check<Options extends object>(rules: OptionSet<Options>, options: Options): void {
  checkValue(`The options of ${rules.owner}`, options, objectRule);
  rules.check(options);
}

function isTimeZone(timeZone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone });
    return true;
  } catch {
    return false;
  }
}

/** `name` is for the error if there is no JSON for the value. */
export function jsonOf(name: string, value: unknown, replacer?: (key: string, value: unknown) => unknown): string {
  try {
    return JSON.stringify(value, replacer);
  } catch (error) {
    throw configError(`${name} cannot be saved as JSON: ${errorText(error)}`, error);
  }
}

/** The input as JSON: bytes as base64, URLs as strings. */
export function inputJson(input: string | UserInput): string {
  const text = isRecord(input) ? input.text : input;
  if (typeof text !== 'string')
    throw configError('The input must be a string, or { text, images, files }, as for run().');
  return jsonOf('The input', input, (_key, value) =>
    isBuffer(value) ? Buffer.from(value.data).toString('base64') : value,
  );
}

/** What `Buffer` returns as JSON; other bytes are refused by the agent. */
function isBuffer(value: unknown): value is { data: number[] } {
  return isRecord(value) && value.type === 'Buffer' && Array.isArray(value.data);
}

/** Throws unless it answers this question. */
export function checkAnswer(answer: QuestionAnswer, { id: question, kind, hash }: QuestionTable): void {
  const given: unknown = answer;
  if (isRecord(given) && given.hash !== undefined && given.hash !== hash)
    throw new RunError('ANSWER_INVALID', `The answer is for another call than question "${question}".`);
  const isValid = kind === 'approval' ? isApproval(given) : isElicitResult(given);
  if (isValid) return;
  const expected = kind === 'approval' ? `'allow', 'deny', { allow: true } or { deny: 'why' }` : `{ action, content }`;
  throw new RunError('ANSWER_INVALID', `The answer to question "${question}" must be ${expected}.`);
}

function isApproval(answer: unknown): boolean {
  if (answer === 'allow' || answer === 'deny') return true;
  if (!isRecord(answer)) return false;
  if ('deny' in answer) return typeof answer.deny === 'string';
  const { allow, remember } = answer;
  return (allow === true || isRecord(allow)) && ['call', 'conversation', undefined].some((each) => each === remember);
}

function isElicitResult(answer: unknown): boolean {
  if (!isRecord(answer)) return false;
  const { action, content } = answer;
  return (
    ['accept', 'decline', 'cancel'].some((each) => each === action) && (content === undefined || isRecord(content))
  );
}
