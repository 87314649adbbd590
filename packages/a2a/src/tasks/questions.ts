// Questions of a running task to its caller: approvals of tool calls, and elicitations of MCP servers.
import { randomBytes } from 'node:crypto';
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { MAX_TIMER_MS, onAbort } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest } from 'pocket-agent';
import type { Part } from '../wire/task.ts';
import {
  type AnswerInput,
  approvalQuestion,
  elicitationQuestion,
  howToAnswer,
  questionParts,
  readAnswers,
  type ShownQuestion,
} from './shown-questions.ts';

interface Question extends ShownQuestion<() => void> {
  /** Ends the question without an answer. */
  expire(): void;
}

interface QuestionsOptions {
  /** Called when a question is asked or answered. */
  changed(): void;
  /** Unanswered questions expire after this time. */
  timeoutMs: number;
}

export class Questions {
  readonly #options: QuestionsOptions;
  readonly #open = new Map<string, Question>();
  #count = 0;

  constructor(options: QuestionsOptions) {
    this.#options = options;
  }

  get areOpen(): boolean {
    return this.#open.size > 0;
  }

  /** The questions, as text and as data, and how to answer. */
  get parts(): Part[] {
    return questionParts(this.#open, this.#count);
  }

  get howTo(): string {
    return howToAnswer(this.#open, this.#count);
  }

  approve(request: ApprovalRequest): Promise<ApprovalAnswer> {
    const id = `q${++this.#count}-${request.hash.slice(0, 8)}`;
    return this.#ask({ ...approvalQuestion(id, request), unanswered: 'deny', signal: request.signal });
  }

  elicit(
    params: ElicitRequest['params'],
    { server, signal }: { server: string; signal: AbortSignal },
  ): Promise<ElicitResult> {
    const id = `q${++this.#count}-${randomBytes(4).toString('hex')}`;
    return this.#ask({ ...elicitationQuestion(id, params, server), unanswered: { action: 'cancel' }, signal });
  }

  /** A function that gives all answers in a message; undefined if one of them cannot be read. */
  read(parts: readonly Part[]): (() => void) | undefined {
    const answers = readAnswers<() => void, Question>({ open: this.#open, count: this.#count, parts });
    return answers && (() => answers.forEach(({ answer: give }) => void give()));
  }

  /** Expires all open questions. */
  close(): void {
    for (const { expire } of [...this.#open.values()]) expire();
  }

  #ask<Answer>(question: ShownQuestion<Answer> & { unanswered: Answer; signal: AbortSignal }): Promise<Answer> {
    const { id, parts, freeText, unanswered, signal } = question;
    return new Promise((resolve) => {
      const end = (answer: Answer) => {
        clearTimeout(timer);
        removeListener();
        this.#open.delete(id);
        resolve(answer);
        this.#options.changed();
      };
      const expire = () => end(unanswered);
      const timer = setTimeout(expire, Math.min(this.#options.timeoutMs, MAX_TIMER_MS)).unref();
      const removeListener = onAbort(signal, expire);
      const read = (input: AnswerInput) => {
        const answer = question.read(input);
        return answer === undefined ? undefined : () => end(answer);
      };
      this.#open.set(id, { id, parts, ...(freeText === undefined ? {} : { freeText }), read, expire });
      this.#options.changed();
    });
  }
}
