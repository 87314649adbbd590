// Durable runs of other processes, such as workers: their questions join those of the studio, and their events can be read.
import { errorText, type Logger, withoutUndefined } from '@pocket-agent/kit';
import type { Question as RunQuestion, Runs } from '@pocket-agent/runs';
import type { DurableRun, DurableRunDetails, Question } from '../wire/wire.ts';
import type { Questions } from './questions.ts';
import { Refusal } from './refusal.ts';

/** How often the database is asked for questions. */
const POLL_MS = 1_000;
const LISTED = 100;
const MAX_EVENTS = 2_000;
const capabilities = ['read', 'write', 'create', 'delete'] as const;

export class DurableRuns {
  readonly #runs: Runs;
  readonly #questions: Questions;
  readonly #logger: Logger;
  /** Questions that the studio shows, until they are no longer open. */
  readonly #shown = new Map<string, AbortController>();
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #problem = '';

  constructor(runs: Runs, questions: Questions, logger: Logger) {
    this.#runs = runs;
    this.#questions = questions;
    this.#logger = logger;
  }

  /** Shows the questions of the runs until `close()`. */
  start(): void {
    void this.#poll();
  }

  async list(): Promise<DurableRun[]> {
    const { runs } = await this.#runs.list({ limit: LISTED });
    return runs.map(({ id, agent, status, input, createdAt, updatedAt, steps, totals }) => ({
      ...{ id, agent, status, steps, input: typeof input === 'string' ? input : input.text },
      ...{ createdAt: Date.parse(createdAt), updatedAt: Date.parse(updatedAt) },
      ...withoutUndefined({ costUsd: totals?.usage.costUsd }),
    }));
  }

  /** A run with its events so far, the latest of them. */
  async read(id: string): Promise<DurableRunDetails> {
    const info = await this.#runs.get(id);
    if (!info) throw new Refusal(404, 'There is no such run.');
    const events: DurableRunDetails['events'] = [];
    const after = Math.max(0, info.events - MAX_EVENTS);
    if (info.events > 0)
      for await (const event of this.#runs.events(id, { after })) {
        events.push(event);
        if (event.number >= info.events) break;
      }
    return { id, agent: info.agent, status: info.status, events };
  }

  async cancel(id: string): Promise<void> {
    if (!(await this.#runs.cancel(id))) throw new Refusal(409, 'The run is over.');
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    for (const shown of this.#shown.values()) shown.abort();
  }

  async #poll(): Promise<void> {
    try {
      this.#show(await this.#runs.questions());
      this.#problem = '';
    } catch (error) {
      const problem = errorText(error);
      if (problem !== this.#problem && !this.#isClosed)
        this.#logger.warn(`The questions of durable runs cannot be read: ${problem}`);
      this.#problem = problem;
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#poll(), POLL_MS);
  }

  #show(open: readonly RunQuestion[]): void {
    const ids = new Set(open.map(({ id }) => id));
    for (const [id, shown] of this.#shown) {
      if (ids.has(id)) continue;
      shown.abort(); // answered elsewhere, or void
      this.#shown.delete(id);
    }
    for (const question of open) {
      if (this.#isClosed || this.#shown.has(question.id)) continue;
      const shown = new AbortController();
      this.#shown.set(question.id, shown);
      void this.#ask(question, shown.signal);
    }
  }

  async #ask(asked: RunQuestion, signal: AbortSignal): Promise<void> {
    const given = await this.#questions.ask(shownQuestion(asked), signal);
    if (!given) return;
    try {
      await this.#runs.answer(asked.id, given, { by: 'studio' });
    } catch (error) {
      this.#logger.warn(`The answer to a durable run was refused: ${errorText(error)}`);
    } finally {
      this.#shown.delete(asked.id); // if it is still open, it is shown again
    }
  }
}

function shownQuestion({ id, run, agent, call, request, server, askedAt }: RunQuestion): Question {
  const base = { id, chatId: '', runId: run, askedAt: Date.parse(askedAt) };
  if (call) {
    const { tool, description, toolCallId, path, changed } = call;
    const capability = capabilities.find((each) => each === call.capability) ?? 'delete';
    return {
      ...{ ...base, kind: 'approval', tool, capability, arguments: call.arguments, toolCallId, path, changed },
      ...(description === undefined ? {} : { description }),
    };
  }
  return {
    ...{ ...base, kind: 'form', server: server ?? agent, message: request?.message ?? '' },
    ...withoutUndefined({
      schema: request && 'requestedSchema' in request ? request.requestedSchema : undefined,
      url: request && 'url' in request ? request.url : undefined,
    }),
  };
}
