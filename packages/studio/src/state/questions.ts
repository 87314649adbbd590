// What waits for a person: tool calls, and forms of MCP servers. The first answer counts, whichever page it comes from.
import { randomUUID } from 'node:crypto';
import { withoutUndefined } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest, RunOptions } from 'pocket-agent';
import { currentRun } from 'pocket-agent/internal';
import type { Answer, FormAnswer, Question } from '../wire/wire.ts';
import type { Journal } from './journal.ts';

type Elicit = NonNullable<RunOptions['elicit']>;
type Asked = Parameters<Elicit>[0];
type Origin = Parameters<Elicit>[1];
type Given = Answer | FormAnswer;

interface Waiting {
  question: Question;
  answer(given: Given, text: string): void;
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

  /** Whether a call may be made. */
  async approve(chatId: string, request: ApprovalRequest): Promise<ApprovalAnswer> {
    const { tool, server, capability, description, toolCallId, path, changed, hash, signal } = request;
    const question: Question = {
      ...{ kind: 'approval', id: randomUUID(), chatId, askedAt: Date.now() },
      ...{ tool, capability, arguments: request.arguments, toolCallId, path, changed },
      ...withoutUndefined({ server, description, runId: currentRun()?.shared.runId }),
    };
    const given = await this.ask(question, signal);
    if (!given || 'action' in given) return { deny: 'it was not answered in time' };
    return { ...given, hash };
  }

  /** What an MCP server asks. */
  async elicit(chatId: string, params: Asked, { server, signal }: Origin): Promise<FormAnswer> {
    const question: Question = {
      ...{ kind: 'form', id: randomUUID(), chatId, askedAt: Date.now(), server, message: params.message },
      ...withoutUndefined({
        schema: 'requestedSchema' in params ? params.requestedSchema : undefined,
        url: 'url' in params ? params.url : undefined,
      }),
    };
    const given = await this.ask(question, signal);
    return given && 'action' in given ? given : { action: 'cancel' };
  }

  /** Returns whether the question was still waiting for an answer of this kind. */
  answer(id: string, given: Given): boolean {
    const waiting = this.#waiting.get(id);
    if (!waiting || (waiting.question.kind === 'form') !== 'action' in given) return false;
    waiting.answer(given, describe(given));
    return true;
  }

  /** Shows a question. Undefined if no answer is needed any more. */
  ask(question: Question, signal: AbortSignal): Promise<Given | undefined> {
    const { id } = question;
    const { promise, resolve } = Promise.withResolvers<Given | undefined>();
    const close = (given: Given | undefined, text?: string) => {
      if (!this.#waiting.delete(id)) return;
      signal.removeEventListener('abort', withdraw);
      this.#journal.add({
        type: 'question_closed',
        questionId: id,
        closedAt: Date.now(),
        ...withoutUndefined({ text }),
      });
      resolve(given);
    };
    const withdraw = () => close(undefined);
    this.#waiting.set(id, { question, answer: close });
    this.#journal.add({ type: 'question', question });
    if (signal.aborted) withdraw();
    else signal.addEventListener('abort', withdraw, { once: true });
    return promise;
  }
}

function describe(answer: Given): string {
  if ('action' in answer) return { accept: 'answered', decline: 'declined', cancel: 'cancelled' }[answer.action];
  if ('deny' in answer) return answer.deny === '' ? 'denied' : `denied: ${answer.deny}`;
  const remembered = answer.remember === 'conversation' ? ', for the rest of the conversation' : '';
  return `${answer.allow === true ? 'allowed' : 'allowed with other arguments'}${remembered}`;
}
