// Durable runs of other processes, such as workers: their questions join those of the studio, and their events can be read.
import { errorText, type Logger, withoutUndefined } from '@pocket-agent/kit';
import type { Question as RunQuestion, Runs } from '@pocket-agent/runs';
import type { DurableList, DurableRunDetails, Question } from '../wire/wire.ts';
import { capabilityIn, type ForeignQuestion, ForeignQuestions } from './foreign-questions.ts';
import type { Questions } from './questions.ts';
import { Refusal } from './refusal.ts';

/** How often the database is asked for questions. */
const POLL_MS = 1_000;
const LISTED = 100;
const MAX_EVENTS = 2_000;

/** Where durable runs are. */
export interface DurableSource {
  readonly name: string;
  list(): Promise<DurableList>;
  /** Undefined if the run is not there. */
  read(id: string): Promise<DurableRunDetails | undefined>;
  /** False if the run is not there. */
  cancel(id: string): Promise<boolean>;
}

export class DurableRuns implements DurableSource {
  readonly name = 'the database';
  readonly #runs: Runs;
  readonly #questions: ForeignQuestions;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;
  #problem = '';

  constructor(runs: Runs, questions: Questions, logger: Logger) {
    this.#runs = runs;
    this.#questions = new ForeignQuestions(questions, (error) =>
      logger.warn(`The answer to a durable run was refused: ${errorText(error)}`),
    );
    this.#logger = logger;
  }

  /** Shows the questions of the runs until `close()`. */
  start(): void {
    void this.#poll();
  }

  async list(): Promise<DurableList> {
    const { runs } = await this.#runs.list({ limit: LISTED });
    const shown = runs.map(({ id, agent, status, input, createdAt, updatedAt, steps, totals }) => ({
      ...{ id, agent, status, steps, input: typeof input === 'string' ? input : input.text },
      ...{ createdAt: Date.parse(createdAt), updatedAt: Date.parse(updatedAt) },
      ...withoutUndefined({ costUsd: totals?.usage.costUsd }),
    }));
    return { runs: shown, problems: [] };
  }

  /** A run with its events so far, the latest of them. */
  async read(id: string): Promise<DurableRunDetails | undefined> {
    const info = await this.#runs.get(id);
    if (!info) return undefined;
    const events: DurableRunDetails['events'] = [];
    const after = Math.max(0, info.events - MAX_EVENTS);
    if (info.events > 0)
      for await (const event of this.#runs.events(id, { after })) {
        events.push(event);
        if (event.number >= info.events) break;
      }
    return { id, agent: info.agent, status: info.status, events, ...withoutUndefined({ usage: info.totals?.usage }) };
  }

  async cancel(id: string): Promise<boolean> {
    if (!(await this.#runs.get(id))) return false;
    if (!(await this.#runs.cancel(id))) throw new Refusal(409, 'The run is over.');
    return true;
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#questions.close();
  }

  async #poll(): Promise<void> {
    try {
      const open = await this.#runs.questions();
      this.#questions.replace(open.map((asked) => this.#foreign(asked)));
      this.#problem = '';
    } catch (error) {
      const problem = errorText(error);
      if (problem !== this.#problem && !this.#isClosed)
        this.#logger.warn(`The questions of durable runs cannot be read: ${problem}`);
      this.#problem = problem;
    }
    if (!this.#isClosed) this.#timer = setTimeout(() => void this.#poll(), POLL_MS);
  }

  #foreign(asked: RunQuestion): ForeignQuestion {
    const { id } = asked;
    return { id, question: shownQuestion(asked), answer: (given) => this.#runs.answer(id, given, { by: 'studio' }) };
  }
}

function shownQuestion({ id, run, agent, call, request, server, askedAt }: RunQuestion): Question {
  const base = { id, chatId: '', durableRun: run, askedAt: Date.parse(askedAt) };
  if (call) {
    const { tool, server, description, toolCallId, path, changed } = call;
    const capability = capabilityIn(call.capability);
    return {
      ...{ ...base, kind: 'approval', tool, capability, arguments: call.arguments, toolCallId, path, changed },
      ...withoutUndefined({ server, description }),
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
