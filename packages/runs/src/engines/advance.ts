// Advances one run: from its journal to its answer, to a question that waits, or to its failure.
import { errorText, isPocketError, sha256 } from '@pocket-agent/kit';
import type { ApprovalRequest, Approve, PocketAgent, RunOptions, UserInput } from 'pocket-agent';
import type { Changes } from '../journal/changes.ts';
import { queueNext } from '../journal/conversations.ts';
import type { ApprovalCall, EndEvent, QuestionAnswer } from '../journal/events.ts';
import type { HeldWrites } from '../journal/held-writes.ts';
import { type Database, inTransaction, lockRun, queueing, type RunStore, write } from '../journal/journal.ts';
import type { LiveEvents } from '../journal/live-events.ts';
import { closeQuestions, type NewQuestion, type Questions } from '../journal/questions.ts';
import { isRunError } from '../journal/run-error.ts';
import { RunLog } from '../journal/run-log.ts';
import type { RunTable } from '../journal/schema.ts';

/** After this many attempts without a new row in the journal, the run itself is assumed to end its process. */
const MAX_ATTEMPTS = 5;

interface AdvanceOptions {
  store: RunStore;
  writes: HeldWrites;
  questions: Questions;
  changes: Changes;
  live: LiveEvents;
  agent: PocketAgent<unknown>;
}

/** A run that this process holds. */
export class HeldRun {
  readonly row: RunTable;
  readonly #options: AdvanceOptions;
  readonly #holder: string;
  readonly #abort = new AbortController();
  readonly #log: RunLog;
  #isLeaving = false;
  #hasBegun = false;
  /** Whether an earlier process has worked on it. */
  #isContinued = true;
  /** Why the database could not be used. The run continues later from the saved state. */
  #failure: { error: unknown } | undefined;
  #hasAsked = false;
  /** The questions that it waits for. */
  readonly #openQuestions = new Set<string>();

  constructor(row: RunTable, options: AdvanceOptions) {
    this.row = row;
    this.#options = options;
    this.#holder = row.holder ?? '';
    this.#log = new RunLog({
      store: options.store,
      writes: options.writes,
      run: row,
      holder: this.#holder,
      failed: (error) => this.#writeFailed(error),
      isLeaving: () => this.#isLeaving,
      saved: () => {
        if (this.#isLeaving) this.stop('The process ends.');
      },
    });
  }

  /** Whether the agent has begun, and may have paid for an answer. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /** Resolves when nothing of the run is left in this process. Rejects if the database cannot be used. */
  async advance(): Promise<void> {
    const agent = this.#options.agent.fork();
    try {
      await this.#settle(await this.#run(agent));
    } finally {
      await agent.close();
      this.#options.live.ended(this.row.id);
      this.#options.changes.notify(this.row.id);
    }
  }

  /** Leaves the run to another process, after the next message, so that no call is interrupted. */
  leave(): void {
    this.#isLeaving = true;
  }

  /** Stops at once. The journal stays as it is. */
  stop(reason: string): void {
    this.#log.freeze();
    this.#abort.abort(new Error(reason));
  }

  /** Stops the run, because its next steps could not be saved. */
  #writeFailed(error: unknown): void {
    if (!isRunError(error, 'RUN_LOST')) this.#failure ??= { error };
    this.stop('The run was cancelled, is continued by another process, or cannot be saved.');
  }

  /** How the run has ended; undefined if it continues later. */
  async #run(agent: PocketAgent<unknown>): Promise<EndEvent | undefined> {
    const { row } = this;
    if (row.attempts > MAX_ATTEMPTS)
      return failed('FAILED', `The process ended, or could not use the database, ${MAX_ATTEMPTS} times at one step.`);
    const timeoutMs = row.deadline_at === null ? undefined : row.deadline_at - Date.now();
    if (timeoutMs !== undefined && timeoutMs <= 0) return late();
    try {
      await agent.continueConversation(this.#log.conversation);
      const options = this.#runOptions(agent, timeoutMs);
      const input: string | UserInput = JSON.parse(row.input);
      this.#isContinued = await this.#log.hasBegun();
      this.#hasBegun = true;
      const answer = this.#isContinued ? await agent.resume(options) : await agent.run(input, options);
      return { type: 'finished', data: { answer: answer ?? null } };
    } catch (error) {
      if (this.#failure) throw this.#failure.error;
      const continuesLater = isPocketError(error, 'RUN_SUSPENDED') || isRunError(error, 'RUN_LOST');
      if (continuesLater || this.#abort.signal.aborted) return undefined;
      return failed(isPocketError(error) ? error.code : 'FAILED', errorText(error));
    }
  }

  #runOptions(agent: PocketAgent<unknown>, timeoutMs: number | undefined): RunOptions {
    const { id: run, caller, profile } = this.row;
    return {
      signal: this.#abort.signal,
      metadata: { run },
      onEvent: (event) => this.#options.live.add(this.row.id, event),
      approve: this.#approver(agent),
      elicit: async (request, { server, signal }) => {
        const hash = sha256(JSON.stringify([server, request]));
        const answer = await this.#wait({ kind: 'elicitation', hash, call_id: '', about: { request, server } }, signal);
        return typeof answer === 'object' && 'action' in answer ? answer : { action: 'cancel' };
      },
      ...(caller === null ? {} : { caller }),
      ...(profile === null ? {} : { profile: JSON.parse(profile) }),
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    };
  }

  /** The agent's own `approve` decides first; if it answers `later`, a person is asked. */
  #approver({ approve }: PocketAgent<unknown>): Approve {
    return async (request) => {
      const decided = approve ? await approve(request) : 'later';
      if (decided !== 'later') return decided;
      const { toolCallId, path, signal, canWait } = request;
      const call = callOf(request);
      const call_id = [...path.slice(1), toolCallId].join('/'); // sub-agents may use the same ids
      const question: NewQuestion = { kind: 'approval', hash: hashOf(call), call_id, about: { call } };
      const answer = canWait ? await this.#ask(question) : await this.#wait(question, signal);
      this.#options.changes.notify(this.row.id);
      if (answer === undefined) return 'later';
      if (typeof answer !== 'object') return answer;
      if ('action' in answer) return 'deny';
      const { hash: _checked, ...others } = answer;
      return others as QuestionAnswer & typeof answer;
    };
  }

  async #ask(question: NewQuestion): Promise<QuestionAnswer | undefined> {
    this.#hasAsked = true;
    await this.#log.ready(); // the call comes before its question
    const asking = this.#options.questions.ask({ ...this.row, holder: this.#holder }, question);
    const outcome = await asking.catch((error) => {
      this.#writeFailed(error);
      throw error;
    });
    if ('answer' in outcome) return outcome.answer;
    this.#openQuestions.add(outcome.id);
    return undefined;
  }

  /** For a question whose call cannot be made again: it waits in this process. */
  #wait(question: NewQuestion, signal: AbortSignal): Promise<QuestionAnswer> {
    return this.#options.changes.until(this.row.id, () => this.#ask(question), signal);
  }

  /** Whether one of the open questions has been answered. */
  async #hasAnswer(db: Database): Promise<boolean> {
    if (this.#openQuestions.size === 0) return false;
    const answered = await db
      .selectFrom('pocket_run_questions')
      .select('id')
      .where('id', 'in', [...this.#openQuestions])
      .where('status', '=', 'answered')
      .limit(1)
      .executeTakeFirst();
    return answered !== undefined;
  }

  /** Saves how it has ended, or that it continues later. */
  async #settle(end: EndEvent | undefined): Promise<void> {
    try {
      if (end && (await this.#log.end(end, this.#afterEnd()))) return;
      await this.#log.ready();
    } catch (error) {
      if (isRunError(error, 'RUN_LOST')) return;
      throw error;
    }
    const { id: run } = this.row;
    const { store } = this.#options;
    await inTransaction(store.db, async (db) => {
      await lockRun(store, db, run);
      const isAnswered = await this.#hasAnswer(db);
      const queued = this.#abort.signal.aborted || isAnswered ? queueing() : undefined;
      const set = queued ?? { status: 'waiting' as const, holder: null };
      const isHeld = await write(store, db, { run, holder: this.#holder, events: [], set });
      if (isHeld && queued) await store.queued(db, [{ ...this.row, ...queued }]);
    });
  }

  /** What the end of the run changes besides the run; undefined for most runs. */
  #afterEnd(): ((db: Database) => Promise<void>) | undefined {
    const { id, conversation } = this.row;
    if (conversation === null && !this.#isContinued && !this.#hasAsked) return undefined;
    return async (db) => {
      await closeQuestions(db, id);
      await queueNext(this.#options.store, db, id);
    };
  }
}

function failed(code: string, message: string): EndEvent {
  return { type: 'failed', data: { code, message } };
}

export function late(): EndEvent {
  return failed('TIMEOUT', 'The run was not finished in its time.');
}

/** Without the name of the agent, which is random in each process unless an option sets it. */
function hashOf({ path, toolCallId: _id, changed: _changed, server: _server, ...call }: ApprovalCall): string {
  return sha256(JSON.stringify([path.slice(1), call]));
}

function callOf({ tool, server, capability, description, arguments: args, ...request }: ApprovalRequest): ApprovalCall {
  const { toolCallId, path, changed } = request;
  return {
    tool,
    ...(server === undefined ? {} : { server }),
    capability,
    ...(description === undefined ? {} : { description }),
    arguments: args,
    toolCallId,
    path,
    changed,
  };
}
