// Runs that outlive the process: their state is a journal in a database, which any process can read and continue.
import { randomUUID } from 'node:crypto';
import { BatchQueue, configError, describeAvailable, neverAborted, PocketError } from '@pocket-agent/kit';
import type { EventListener, PocketAgent, UserInput } from 'pocket-agent';
import type { Engine } from './engines/engine.ts';
import type { Changes } from './journal/changes.ts';
import { queueNext } from './journal/conversations.ts';
import { eventOf, isEnd, type Question, type QuestionAnswer, type RunEvent } from './journal/events.ts';
import { inTransaction, type RunStore, unknownRun, write } from './journal/journal.ts';
import type { LiveEvents } from './journal/live-events.ts';
import {
  checkAge,
  checkFilter,
  checkId,
  checkListOptions,
  checkNumber,
  checkSchedule,
  checkScheduleList,
  jsonOf,
  type ListRunsOptions,
  type ListSchedulesOptions,
  type QuestionFilter,
  readStartOptions,
  type ScheduleOptions,
  type StartOptions,
} from './journal/options.ts';
import { closeQuestions, type Questions } from './journal/questions.ts';
import { RunError } from './journal/run-error.ts';
import { findRun, type LastEvent, lastEvents, listRuns, type RunInfo, type RunPage } from './journal/run-list.ts';
import type { Schedule, Schedules } from './journal/schedules.ts';
import type { RunTable } from './journal/schema.ts';
import { type NewRun, newRun, RunStarts } from './journal/start-run.ts';

/** From where to read the events of a run, and when to stop. */
export interface EventsOptions {
  /** The number of the last event that was seen. */
  after?: number;
  signal?: AbortSignal;
  /**
   * Called for events between those of the journal while this process advances the run, such as deltas of text: first for
   * those of the step in progress. They are not saved.
   */
  onEvent?: EventListener;
}

interface CloseOptions {
  /** How long runs may take to the end of a step. Default 5,000. */
  graceMs?: number;
}

const EVENTS_PER_READ = 100;
const RUNS_PER_READ = 1_000;
const DEFAULT_GRACE_MS = 5_000;
const IS_OVER = ['finished', 'failed', 'cancelled'] as const;
const IS_OPEN = ['queued', 'running', 'waiting'] as const;

export interface RunsParts {
  store: RunStore;
  questions: Questions;
  schedules: Schedules;
  changes: Changes;
  live: LiveEvents;
  agents: ReadonlyMap<string, PocketAgent<unknown>>;
  engine: Engine;
}

export class Runs {
  readonly #parts: RunsParts;
  readonly #store: RunStore;
  readonly #starts: RunStarts;
  readonly #lastEvents: BatchQueue<string, LastEvent | undefined>;
  readonly #closing = new AbortController();
  #closed: Promise<void> | undefined;

  constructor(parts: RunsParts) {
    this.#parts = parts;
    this.#store = parts.store;
    this.#starts = new RunStarts(parts.store);
    this.#lastEvents = new BatchQueue((ids) => lastEvents(parts.store.db, ids), {
      maxBatches: 2,
      count: ({ length }) => Math.min(length, RUNS_PER_READ),
    });
  }

  /** Starts a run. If a run with this id exists, returns that run. */
  async start(agent: string, input: string | UserInput, options: StartOptions = {}): Promise<{ id: string }> {
    const {
      id = randomUUID(),
      caller = null,
      profile,
      timeoutMs,
      conversation = null,
      messages,
      about,
      deliver = false,
    } = readStartOptions(agent, options);
    const { engine, changes } = this.#parts;
    this.#checkOpen();
    this.#checkAgent(agent);
    const row: NewRun['row'] = {
      ...newRun({ id, agent, input }),
      caller,
      profile: profile ? jsonOf('profile', profile) : null,
      deadline_at: timeoutMs === undefined ? null : Date.now() + Math.ceil(timeoutMs),
      conversation,
      about: about ? jsonOf('about', about) : null,
      undelivered: deliver ? 1 : null,
      // the compacted state of earlier runs does not belong to these messages
      compacted: messages ? 'null' : null,
    };
    await this.#starts.start({ row, messages });
    engine.wake();
    changes.notify(id);
    return { id };
  }

  /** Undefined if there is no such run. */
  async get(id: string): Promise<RunInfo | undefined> {
    checkId('a run', id);
    return findRun(this.#store.db, id);
  }

  /** Newest first. */
  async list(options: ListRunsOptions = {}): Promise<RunPage> {
    checkListOptions(options);
    return listRuns(this.#store.db, options);
  }

  /** The events of a run until its last one: first the existing ones, then new ones. */
  async *events(
    id: string,
    { after = 0, signal = neverAborted(), onEvent }: EventsOptions = {},
  ): AsyncGenerator<RunEvent, void> {
    checkId('a run', id);
    checkNumber('after', after);
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const unfollow = onEvent && this.#parts.live.follow(id, onEvent);
    try {
      for (let seen = after; ; ) {
        const found = await this.#parts.changes.until(id, () => this.#read(id, seen), stop);
        for (const event of found) {
          yield event;
          seen = event.number;
          if (isEnd(event)) return;
        }
        if (found.length === 0) return;
      }
    } finally {
      unfollow?.();
    }
  }

  /** Unanswered questions, the oldest first. */
  async questions(options: QuestionFilter = {}): Promise<Question[]> {
    checkFilter(options);
    return this.#parts.questions.list(options);
  }

  /** The run continues with this answer, here or in a process with its agent. The journal records `by`. */
  async answer(question: string, answer: QuestionAnswer, { by }: { by?: string } = {}): Promise<void> {
    this.#checkOpen();
    checkId('a question', question);
    const run = await this.#parts.questions.answer(question, answer, by);
    this.#parts.changes.notify(run);
    this.#parts.engine.wake();
  }

  /** The answer of a run, when it has one. Rejects with its error if it failed or was cancelled. */
  async result(id: string, { signal = neverAborted() }: { signal?: AbortSignal } = {}): Promise<unknown> {
    checkId('a run', id);
    const stop = AbortSignal.any([signal, this.#closing.signal]);
    const end = await this.#parts.changes.until(id, () => this.#end(id), stop);
    if (end.type === 'finished') return end.data.answer;
    if (end.type === 'cancelled') throw new RunError('RUN_CANCELLED', `The run "${id}" was cancelled.`);
    const { code, message } = end.type === 'failed' ? end.data : { code: 'FAILED', message: 'no reason' };
    throw new RunError('RUN_FAILED', `The run "${id}" failed (${code}): ${message}`, { cause: { code, message } });
  }

  /** False if the run is over. Calls in progress are aborted. */
  async cancel(id: string): Promise<boolean> {
    this.#checkOpen();
    checkId('a run', id);
    const { engine, changes } = this.#parts;
    const isCancelled = await inTransaction(this.#store.db, async (db) => {
      const set = { status: 'cancelled' as const, holder: null };
      const events = [{ type: 'cancelled' as const, data: {} }];
      if (!(await write(this.#store, db, { run: id, among: IS_OPEN, events, set }))) return false;
      await closeQuestions(db, id);
      await queueNext(this.#store, db, id);
      return true;
    });
    if (!isCancelled && !(await this.get(id))) throw unknownRun(id);
    engine.cancel(id);
    engine.wake();
    changes.notify(id);
    return isCancelled;
  }

  /** The answer of a run that was started with `deliver` has been delivered. */
  async delivered(id: string): Promise<void> {
    checkId('a run', id);
    const { numUpdatedRows } = await this.#store.db
      .updateTable('pocket_runs')
      .set({ undelivered: null })
      .where('id', '=', id)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== 1n) throw unknownRun(id);
  }

  /** Starts a run at each time of a schedule, once for all processes together. Replaces the schedule of this name. */
  async schedule(name: string, options: ScheduleOptions): Promise<void> {
    this.#checkOpen();
    checkSchedule(name, options);
    this.#checkAgent(options.agent);
    await this.#parts.schedules.set(name, options);
  }

  /** False if there is no such schedule. */
  unschedule(name: string): Promise<boolean> {
    return this.#parts.schedules.remove(name);
  }

  /** By name; with `prefix`, those whose names begin with it. */
  async schedules(options: ListSchedulesOptions = {}): Promise<Schedule[]> {
    checkScheduleList(options);
    return this.#parts.schedules.list(options.prefix);
  }

  /** Deletes runs that have been over for this long, with their journals, and returns their number. */
  async purge(olderThanMs: number): Promise<number> {
    checkAge('The age in milliseconds', olderThanMs);
    const before = Date.now() - olderThanMs;
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('pocket_runs')
      .where('status', 'in', IS_OVER)
      .where('updated_at', '<=', before)
      .where(({ or, eb, not, exists, selectFrom }) =>
        // a conversation is deleted as a whole
        or([
          eb('conversation', 'is', null),
          not(
            exists(
              selectFrom('pocket_runs as other')
                .select('other.id')
                .whereRef('other.conversation', '=', 'pocket_runs.conversation')
                .where((each) =>
                  each.or([each('other.updated_at', '>', before), each('other.status', 'not in', IS_OVER)]),
                ),
            ),
          ),
        ]),
      )
      .executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }

  /** Runs of this process stop at the end of a step, and continue in the next process. */
  close({ graceMs = DEFAULT_GRACE_MS }: CloseOptions = {}): Promise<void> {
    this.#closed ??= this.#close(graceMs);
    return this.#closed;
  }

  async #close(graceMs: number): Promise<void> {
    const { engine, agents } = this.#parts;
    await engine.close(graceMs);
    this.#closing.abort(new PocketError('ABORTED', 'The runs were closed.'));
    await Promise.all([...agents.values()].map((agent) => agent.close()));
    await this.#store.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** For what begins a transaction, whose own error names nothing. */
  #checkOpen(): void {
    if (this.#closed) throw new PocketError('ABORTED', 'The runs were closed.');
  }

  /** A process without agents does not know which there are. */
  #checkAgent(agent: string): void {
    const { agents } = this.#parts;
    if (agents.size > 0 && !agents.has(agent))
      throw configError(`There is no agent "${agent}". ${describeAvailable(agent, [...agents.keys()])}`);
  }

  /** Undefined if there are no new events and the run is not over. */
  async #read(id: string, after: number): Promise<RunEvent[] | undefined> {
    const run = await this.#status(id);
    const rows = await this.#store.db
      .selectFrom('pocket_run_journal')
      .selectAll()
      .where('run', '=', id)
      .where('number', '>', after)
      .orderBy('number')
      .limit(EVENTS_PER_READ)
      .execute();
    return rows.length === 0 && !isOver(run) ? undefined : rows.map(eventOf);
  }

  async #end(id: string): Promise<RunEvent | undefined> {
    const row = await this.#lastEvents.add(id);
    if (!row) throw unknownRun(id);
    return isOver(row) ? eventOf(row) : undefined;
  }

  async #status(id: string): Promise<Pick<RunTable, 'status' | 'length'>> {
    const run = await this.#store.db
      .selectFrom('pocket_runs')
      .select(['status', 'length'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (!run) throw unknownRun(id);
    return run;
  }
}

function isOver({ status }: Pick<RunTable, 'status'>): boolean {
  return IS_OVER.some((each) => each === status);
}
