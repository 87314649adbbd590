// Questions of runs to people: approvals of calls, and questions of MCP servers. They wait in the database.
import { randomUUID } from 'node:crypto';
import { sql } from 'kysely';
import type { Question, QuestionAnswer } from './events.ts';
import { type Database, inTransaction, lockRun, lost, queueing, type RunStore, write } from './journal.ts';
import { checkAnswer, type QuestionFilter } from './options.ts';
import { RunError } from './run-error.ts';
import type { QuestionTable, RunTable } from './schema.ts';

/** The run that asks. */
export interface AskingRun extends Pick<RunTable, 'id' | 'agent' | 'caller'> {
  holder: string;
}

export interface NewQuestion extends Pick<QuestionTable, 'kind' | 'hash' | 'call_id'> {
  about: Pick<Question, 'call' | 'request' | 'server'>;
}

const EXPIRED_AT_ONCE = 100;
const DEFAULT_LIMIT = 100;

export class Questions {
  readonly #store: RunStore;
  readonly #expireAfterMs: number | undefined;

  constructor(store: RunStore, expireAfterMs: number | undefined) {
    this.#store = store;
    this.#expireAfterMs = expireAfterMs;
  }

  /**
   * The answer to a question of a run, or the id of the question if it has no answer yet. Asks the question if it is new. Throws if
   * another process holds the run: the answer is for that process.
   */
  ask(run: AskingRun, question: NewQuestion): Promise<{ answer: QuestionAnswer } | { id: string }> {
    const { kind, hash, call_id } = question;
    return inTransaction(this.#store.db, async (db) => {
      if ((await lockRun(this.#store, db, run.id))?.holder !== run.holder) throw lost(run.id);
      const earlier = await db
        .selectFrom('pocket_run_questions')
        .select(['id', 'status', 'answer', 'hash'])
        .where('run', '=', run.id)
        .where('kind', '=', kind)
        .where('call_id', '=', call_id)
        .where('status', '!=', 'closed')
        .orderBy('asked_at', 'desc')
        .execute();
      const same = earlier.find((each) => each.hash === hash);
      if (same?.status === 'open') return { id: same.id };
      // an approval stays valid for its call: after a crash the call is made again. A server that asks the same thing again
      // wants another answer.
      const isAnswered = same?.status === 'answered' || (same?.status === 'used' && kind === 'approval');
      if (same && isAnswered) {
        await db.updateTable('pocket_run_questions').set({ status: 'used' }).where('id', '=', same.id).execute();
        return { answer: givenAnswer(same) };
      }
      // the same call with other arguments
      if (kind === 'approval') await closeQuestions(db, run.id, call_id);
      return { id: await this.#insert(db, run, question) };
    });
  }

  /** Open questions, the oldest first. */
  async list({ agent, caller, run, limit = DEFAULT_LIMIT }: QuestionFilter): Promise<Question[]> {
    let query = this.#store.db.selectFrom('pocket_run_questions').selectAll().where('status', '=', 'open');
    if (agent !== undefined) query = query.where('agent', '=', agent);
    if (caller !== undefined) query = query.where('caller', '=', caller);
    if (run !== undefined) query = query.where('run', '=', run);
    const rows = await query.orderBy('asked_at').limit(limit).execute();
    return rows.map(questionOf);
  }

  /** Returns the id of the run. */
  async answer(id: string, answer: QuestionAnswer, by?: string): Promise<string> {
    return inTransaction(this.#store.db, async (db) => {
      const question = await db.selectFrom('pocket_run_questions').selectAll().where('id', '=', id).executeTakeFirst();
      if (!question) throw new RunError('QUESTION_UNKNOWN', `There is no question "${id}".`);
      checkAnswer(answer, question);
      const run = await lockRun(this.#store, db, question.run);
      if (!run) throw closedQuestion(question);
      const { numUpdatedRows } = await db
        .updateTable('pocket_run_questions')
        .set({ status: 'answered', answer: JSON.stringify(answer) })
        .where('id', '=', id)
        .where('status', '=', 'open')
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) throw closedQuestion(question);
      const queued = run.status === 'waiting' ? queueing() : undefined;
      await write(this.#store, db, {
        run: run.id,
        events: [{ type: 'answer', data: { question: id, answer, ...(by === undefined ? {} : { by }) } }],
        set: { attempts: 0, ...queued },
      });
      if (queued) await this.#store.queued(db, [{ ...run, ...queued }]);
      return run.id;
    });
  }

  /** Answers questions whose time is over: approvals are denied, other questions cancelled. */
  async expire(): Promise<number> {
    const rows = await this.#store.db
      .selectFrom('pocket_run_questions')
      .select(['id', 'kind'])
      .where('status', '=', sql.lit('open'))
      .where('expires_at', 'is not', null)
      .where('expires_at', '<=', Date.now())
      .limit(EXPIRED_AT_ONCE)
      .execute();
    for (const { id, kind } of rows) {
      const late: QuestionAnswer =
        kind === 'approval' ? { deny: 'it was not answered in time', by: 'timeout' } : { action: 'cancel' };
      await this.answer(id, late).catch((error) => {
        if (!(error instanceof RunError)) throw error; // answered just now
      });
    }
    return rows.length;
  }

  async #insert(db: Database, run: AskingRun, { kind, hash, call_id, about }: NewQuestion): Promise<string> {
    const row: QuestionTable = {
      id: randomUUID(),
      run: run.id,
      agent: run.agent,
      caller: run.caller,
      kind,
      hash,
      call_id,
      about: JSON.stringify(about),
      asked_at: Date.now(),
      expires_at: this.#expireAfterMs === undefined ? null : Date.now() + Math.ceil(this.#expireAfterMs),
      status: 'open',
      answer: null,
    };
    await db.insertInto('pocket_run_questions').values(row).execute();
    const events = [{ type: 'question' as const, data: questionOf(row) }];
    if (!(await write(this.#store, db, { run: run.id, holder: run.holder, events }))) throw lost(run.id);
    return row.id;
  }
}

/** No answers are needed any more: for one call, or for a whole run. */
export async function closeQuestions(db: Database, run: string, callId?: string): Promise<void> {
  let update = db
    .updateTable('pocket_run_questions')
    .set({ status: 'closed' })
    .where('run', '=', run)
    .where('status', 'in', ['open', 'answered']);
  if (callId !== undefined) update = update.where('call_id', '=', callId);
  await update.execute();
}

function questionOf(row: QuestionTable): Question {
  const { id, run, agent, caller, kind, hash, about, asked_at, expires_at } = row;
  return {
    id,
    run,
    agent,
    ...(caller === null ? {} : { caller }),
    kind,
    hash,
    askedAt: new Date(asked_at).toISOString(),
    ...(expires_at === null ? {} : { expiresAt: new Date(expires_at).toISOString() }),
    ...JSON.parse(about),
  };
}

function givenAnswer({ id, answer }: Pick<QuestionTable, 'id' | 'answer'>): QuestionAnswer {
  if (answer === null) throw new Error(`The question "${id}" was answered, but has no answer.`);
  return JSON.parse(answer);
}

function closedQuestion({ id, status }: QuestionTable): RunError {
  const reason = status === 'closed' ? 'needs no answer any more' : 'was answered already';
  return new RunError('QUESTION_CLOSED', `The question "${id}" ${reason}.`);
}
