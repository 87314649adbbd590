// Tool calls that wait for a person. The first answer counts, whichever page it comes from.
import { randomUUID } from 'node:crypto';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import type { Answer, Question } from '../wire.ts';
import type { Journal } from './journal.ts';

interface Waiting {
  question: Question;
  answer(given: Answer | undefined, text?: string): void;
}

export class Questions {
  readonly #journal: Journal;
  readonly #waiting = new Map<string, Waiting>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  list(): Question[] {
    return [...this.#waiting.values()].map(({ question }) => question);
  }

  ask(chatId: string, request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { tool, capability, description, toolCallId, path, changed, hash, signal } = request;
    const question: Question = {
      ...{ id: randomUUID(), chatId, tool, capability, arguments: request.arguments, toolCallId, path, changed },
      ...(description === undefined ? {} : { description }),
      askedAt: Date.now(),
    };
    const { promise, resolve } = Promise.withResolvers<ApprovalAnswer>();
    const answer = (given: Answer | undefined, text?: string) => {
      if (!this.#waiting.delete(question.id)) return;
      signal.removeEventListener('abort', withdraw);
      this.#journal.add({ type: 'question_closed', questionId: question.id, ...(text === undefined ? {} : { text }) });
      resolve(given === undefined ? { deny: 'it was not answered in time' } : { ...given, hash });
    };
    const withdraw = () => answer(undefined);
    this.#waiting.set(question.id, { question, answer });
    this.#journal.add({ type: 'question', question });
    if (signal.aborted) withdraw();
    else signal.addEventListener('abort', withdraw, { once: true });
    return promise;
  }

  /** Returns whether the question was still waiting. */
  answer(id: string, given: Answer): boolean {
    const waiting = this.#waiting.get(id);
    waiting?.answer(given, describe(given));
    return waiting !== undefined;
  }
}

function describe(answer: Answer): string {
  if ('deny' in answer) return answer.deny === '' ? 'denied' : `denied: ${answer.deny}`;
  const remembered = answer.remember === 'conversation' ? ', for the rest of the conversation' : '';
  return `${answer.allow === true ? 'allowed' : 'allowed with other arguments'}${remembered}`;
}
