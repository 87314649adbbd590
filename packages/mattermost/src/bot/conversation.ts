// One conversation: an agent that remembers it, and its questions, answered one after the other.
import { randomUUID } from 'node:crypto';
import type { PocketAgent } from 'pocket-agent';
import type { ToolContext } from '../account/caller.ts';
import { errorText } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { AnswerPost } from './answer-post.ts';
import type { LinkHosts } from './link-hosts.ts';
import type { Question, Questions } from './questions.ts';
import { RunText } from './run-text.ts';

export interface ConversationOptions {
  context: ToolContext;
  questions: Questions;
  log: Log;
  editMs: number;
  makeAgent(question: Question): Promise<PocketAgent<unknown>>;
  /** Shows to others that an answer is being written. */
  typing(question: Question): void;
  mayStop(question: Question, userId: string): boolean;
  /** Hosts that links in answers may lead to. */
  linkHosts: LinkHosts;
  /** Aborted when nothing more may be sent. */
  signal: AbortSignal;
}

interface Run {
  question: Question;
  answer: AnswerPost;
  abort: AbortController;
}

const TYPING_MS = 4000;
const MOST_WAITING = 20;

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #waiting: Question[] = [];
  #agent: PocketAgent<unknown> | undefined;
  #run: Run | undefined;
  #working: Promise<void> | undefined;
  #isClosed = false;
  lastUsed = Date.now();

  constructor(options: ConversationOptions) {
    this.#options = options;
  }

  get isIdle(): boolean {
    return this.#working === undefined;
  }

  ask(question: Question): void {
    if (this.#isClosed) return;
    this.lastUsed = Date.now();
    if (this.#waiting.length >= MOST_WAITING) {
      this.#options.log.warning('question_dropped', { post_id: question.postId, waiting: MOST_WAITING });
      return;
    }
    this.#waiting.push(question);
    this.#working ??= this.#work();
  }

  /** Whether the message belongs to what is being answered. */
  isAbout(postId: string): boolean {
    return this.#run?.question.postId === postId || this.#run?.answer.has(postId) === true;
  }

  stop(userId: string): void {
    const run = this.#run;
    if (!run) return;
    if (this.#options.mayStop(run.question, userId)) run.abort.abort();
    else this.#options.log.debug('stop_refused', { post_id: run.question.postId, user_id: userId });
  }

  /** Ends what runs, and waits until that has been told. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting.length = 0;
    this.#run?.abort.abort();
    await this.#working;
    await this.#agent?.close();
  }

  async #work(): Promise<void> {
    for (let question = this.#waiting.shift(); question; question = this.#waiting.shift()) {
      try {
        await this.#answer(question);
      } catch (error) {
        this.#options.log.error('answer_failed', { post_id: question.postId, ...factsOf(error) });
      }
      this.lastUsed = Date.now();
    }
    this.#working = undefined;
  }

  async #answer(question: Question): Promise<void> {
    const { context, log, editMs, signal, typing, linkHosts } = this.#options;
    const { channelId, rootId, postId: questionId } = question;
    const { api, config } = context;
    const place = { channelId, rootId, questionId, pendingId: randomUUID() };
    linkHosts.learn(question.text);
    const allowsLink = (url: URL) => linkHosts.allows(url);
    const answer = new AnswerPost({ api, log, ...place, editMs, backoffMs: config.backoffMs, signal, allowsLink });
    const abort = new AbortController();
    this.#run = { question, answer, abort };
    const text = new RunText();
    typing(question);
    const stillTyping = setInterval(() => typing(question), TYPING_MS);
    try {
      const result = await this.#ask(question, abort.signal, text, answer);
      await answer.finish(text.said || (typeof result === 'string' && result.trim()) || '*(no answer)*');
    } catch (error) {
      if (!abort.signal.aborted) log.error('run_failed', { post_id: question.postId, ...factsOf(error) });
      const note = abort.signal.aborted ? '*(stopped)*' : `:warning: Sorry, that did not work (${codeOf(error)}).`;
      await answer.finish([text.said, note].filter((part) => part !== '').join('\n\n'));
    } finally {
      clearInterval(stillTyping);
      this.#run = undefined;
    }
  }

  async #ask(question: Question, signal: AbortSignal, text: RunText, answer: AnswerPost): Promise<unknown> {
    const { questions, makeAgent } = this.#options;
    const earlier = this.#agent ? '' : await questions.earlier(question);
    this.#agent ??= await makeAgent(question);
    const asked = `${question.username}: ${question.text}`;
    signal.throwIfAborted();
    return this.#agent.run(earlier === '' ? asked : `Said before:\n${earlier}\n\nNow:\n${asked}`, {
      signal,
      streaming: true,
      onEvent: (event) => {
        if (text.take(event) && text.shown !== '') answer.show(text.shown);
      },
    });
  }
}

function factsOf(error: unknown): { code: string; error: string } {
  return { code: codeOf(error), error: errorText(error).slice(0, 500) };
}

/** What people in a channel may know of an error; its text may hold what is none of their business. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNEXPECTED';
}
