// One conversation: an agent with its history, and a queue of questions answered one after the other.
import { randomUUID } from 'node:crypto';
import { errorText } from '@pocket-agent/kit';
import type { PocketAgent, RunOptions } from 'pocket-agent';
import type { ToolContext } from '../account/account.ts';
import type { Log } from '../base/log.ts';
import type { Watcher } from './options.ts';
import { postFiles } from './posts/answer-files.ts';
import { AnswerPost } from './posts/answer-post.ts';
import { readAttachments, withoutRefused } from './posts/attachments.ts';
import type { LinkHosts } from './posts/link-hosts.ts';
import type { Question, Questions } from './posts/questions.ts';
import { summarizeBy } from './posts/thread-summary.ts';
import { RunText } from './text/run-text.ts';

interface ConversationOptions {
  context: ToolContext;
  questions: Questions;
  log: Log;
  editMs: number;
  createAgent(question: Question): Promise<CreatedAgent>;
  /** The answer to a command; undefined if the question is not a command. */
  command(question: Question): Promise<string | undefined>;
  /** Shows the typing indicator. */
  typing(question: Question): void;
  /** Sees the runs too. */
  watcher: Watcher | undefined;
  mayStop(question: Question, userId: string): boolean;
  /** Hosts that links in answers may point to. */
  linkHosts: LinkHosts;
  /** Aborted when nothing more can be sent. */
  signal: AbortSignal;
}

export interface CreatedAgent {
  agent: PocketAgent<unknown>;
  /** Whether the agent continues a saved conversation. */
  isContinued: boolean;
}

interface Run {
  question: Question;
  answer: AnswerPost;
  abort: AbortController;
}

interface AgentRun {
  signal: AbortSignal;
  text: RunText;
  answer: AnswerPost;
}

const TYPING_INTERVAL_MS = 4000;
const MAX_QUEUED = 20;

export class Conversation {
  readonly #options: ConversationOptions;
  readonly #queue: Question[] = [];
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
    if (this.#queue.length >= MAX_QUEUED) {
      this.#options.log.warning('question_dropped', { post_id: question.postId, queued: MAX_QUEUED });
      return;
    }
    this.#queue.push(question);
    this.#working ??= this.#work();
  }

  /** Whether the post is the current question or part of its answer. */
  isAbout(postId: string): boolean {
    return this.#run?.question.postId === postId || this.#run?.answer.has(postId) === true;
  }

  stop(userId: string): void {
    const run = this.#run;
    if (!run) return;
    if (this.#options.mayStop(run.question, userId)) run.abort.abort();
    else this.#options.log.debug('stop_refused', { post_id: run.question.postId, user_id: userId });
  }

  /** Stops the current answer and waits for the final edit of its post. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#queue.length = 0;
    this.#run?.abort.abort();
    await this.#working;
    await this.#agent?.close();
  }

  async #work(): Promise<void> {
    for (let question = this.#queue.shift(); question; question = this.#queue.shift()) {
      try {
        await this.#answer(question);
      } catch (error) {
        this.#options.log.error('answer_failed', { post_id: question.postId, ...errorFields(error) });
      }
      this.lastUsed = Date.now();
    }
    this.#working = undefined;
  }

  async #answer(question: Question): Promise<void> {
    const { context, log, editMs, signal, typing, linkHosts, command } = this.#options;
    const { channelId, rootId, postId: questionId } = question;
    const { api, config } = context;
    const target = { channelId, rootId, questionId, pendingId: randomUUID() };
    linkHosts.allowHostsIn(question.text);
    const allowsLink = (url: URL) => linkHosts.allows(url);
    const answer = new AnswerPost({ api, log, ...target, editMs, backoffMs: config.backoffMs, signal, allowsLink });
    const abort = new AbortController();
    this.#run = { question, answer, abort };
    const text = new RunText();
    typing(question);
    const stillTyping = setInterval(() => typing(question), TYPING_INTERVAL_MS);
    try {
      const result =
        (await command(question)) ?? (await this.#runAgent(question, { signal: abort.signal, text, answer }));
      const said = text.answer || (typeof result === 'string' && result.trim());
      await answer.finish(said || (text.files.length > 0 ? ':paperclip:' : '*(no answer)*'));
      await postFiles(text.files, { api, log, ...target, maxBytes: config.maxFileBytes });
    } catch (error) {
      if (!abort.signal.aborted) log.error('run_failed', { post_id: question.postId, ...errorFields(error) });
      const note = abort.signal.aborted ? '*(stopped)*' : `:warning: Sorry, that did not work (${codeOf(error)}).`;
      await answer.finish([text.answer, note].filter((part) => part !== '').join('\n\n'));
    } finally {
      clearInterval(stillTyping);
      this.#run = undefined;
    }
  }

  async #runAgent(question: Question, { signal, text, answer }: AgentRun): Promise<unknown> {
    const { questions, createAgent, context, log, watcher } = this.#options;
    let earlier = '';
    if (!this.#agent) {
      const { agent, isContinued } = await createAgent(question);
      this.#agent = agent;
      if (!isContinued) earlier = await questions.earlier(question, summarizeBy(agent, signal));
    }
    const agent = this.#agent;
    const options: RunOptions = {
      signal,
      streaming: true,
      caller: question.userId,
      metadata: { username: question.username, channelId: question.channelId },
      onEvent: (event) => {
        watcher?.onEvent(event);
        if (text.handle(event)) answer.show(text.progress, { isUrgent: text.answer !== '' });
      },
      ...(watcher?.onModelCall ? { onModelCall: watcher.onModelCall } : {}),
    };
    const { allowImages } = agent;
    let attachments = await readAttachments(question.attachments, { context, log, allowImages });
    for (;;) {
      signal.throwIfAborted();
      const { kept, notes } = attachments;
      const message = [`${question.username}: ${question.text}`, ...notes].join('\n');
      const input = earlier === '' ? message : `${earlier}\n\nNew message:\n${message}`;
      try {
        return await agent.run(
          kept.length === 0 ? input : { text: input, files: kept.map(({ file }) => file) },
          options,
        );
      } catch (error) {
        const fewer = withoutRefused(attachments, error);
        if (!fewer) throw error;
        attachments = fewer;
      }
    }
  }
}

function errorFields(error: unknown): { code: string; error: string } {
  return { code: codeOf(error), error: errorText(error).slice(0, 500) };
}

/** Channels see only the code of an error, because its message may contain private data. */
function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : 'UNEXPECTED';
}
