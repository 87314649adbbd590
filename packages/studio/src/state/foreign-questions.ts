// Questions of other programs, shown among those of the studio until they are answered, here or there.
import type { Answer, FormAnswer, Question } from '../wire/wire.ts';
import type { Questions } from './questions.ts';

export interface ForeignQuestion {
  /** Its id in the other program. */
  id: string;
  question: Question;
  answer(given: Answer | FormAnswer): Promise<unknown>;
}

export class ForeignQuestions {
  readonly #questions: Questions;
  readonly #onRefused: (error: unknown) => void;
  /** By the id in the other program. */
  readonly #shown = new Map<string, AbortController>();
  #isClosed = false;

  /** `onRefused`: an answer did not count. */
  constructor(questions: Questions, onRefused: (error: unknown) => void) {
    this.#questions = questions;
    this.#onRefused = onRefused;
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
    void this.#ask(asked, shown.signal);
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

  async #ask({ id, question, answer }: ForeignQuestion, signal: AbortSignal): Promise<void> {
    const given = await this.#questions.ask(question, signal);
    if (!given) return;
    try {
      await answer(given);
    } catch (error) {
      this.#onRefused(error);
    } finally {
      this.#shown.delete(id); // if it is still open, it is shown again
    }
  }
}
