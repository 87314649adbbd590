// Questions of other programs, shown among those of the studio until they are answered, here or there.
import { randomUUID } from 'node:crypto';
import { type Capability, profiles } from 'pocket-agent';
import type { Answer, FormAnswer, Question } from '../wire/wire.ts';
import type { Questions } from './questions.ts';

export interface ForeignQuestion {
  /** Its id in the other program. */
  id: string;
  question: Question;
  answer(given: Answer | FormAnswer): Promise<unknown>;
}

/** An answer did not count. `askAgain` shows the question again, unless it is no longer open; a source that is polled does that by itself. */
type OnFailed = (error: unknown, askAgain: () => void) => void;

export class ForeignQuestions {
  readonly #questions: Questions;
  readonly #onFailed: OnFailed;
  /** By the id in the other program. */
  readonly #shown = new Map<string, AbortController>();
  #isClosed = false;

  constructor(questions: Questions, onFailed: OnFailed) {
    this.#questions = questions;
    this.#onFailed = onFailed;
  }

  get size(): number {
    return this.#shown.size;
  }

  /** All that is open there now. */
  replace(open: readonly ForeignQuestion[]): void {
    const ids = new Set(open.map(({ id }) => id));
    for (const id of [...this.#shown.keys()]) if (!ids.has(id)) this.withdraw(id);
    for (const each of open) this.add(each);
  }

  add(asked: ForeignQuestion): void {
    if (this.#isClosed || this.#shown.has(asked.id)) return;
    const shown = new AbortController();
    this.#shown.set(asked.id, shown);
    void this.#ask(asked, shown);
  }

  /** Answered elsewhere, or no longer needed. */
  withdraw(id: string): void {
    this.#shown.get(id)?.abort();
    this.#shown.delete(id);
  }

  close(): void {
    this.#isClosed = true;
    for (const id of [...this.#shown.keys()]) this.withdraw(id);
  }

  async #ask(asked: ForeignQuestion, shown: AbortController): Promise<void> {
    const given = await this.#questions.ask(asked.question, shown.signal);
    if (!given) return;
    const failure = await asked.answer(given).then(
      () => undefined,
      (error: unknown) => ({ error }),
    );
    if (this.#shown.get(asked.id) === shown) this.#shown.delete(asked.id);
    if (!failure) return;
    this.#onFailed(failure.error, () => {
      if (!shown.signal.aborted) this.add({ ...asked, question: { ...asked.question, id: randomUUID() } });
    });
  }
}

/** The capability of a tool, as another program reports it. An unknown one counts as `delete`. */
export function capabilityIn(value: unknown): Capability {
  return profiles.admin.find((each) => each === value) ?? 'delete';
}
