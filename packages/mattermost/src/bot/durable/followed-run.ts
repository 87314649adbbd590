// Shows one run in the channel of its question: the answer as it grows, and the calls that it may not make without approval.
// All that it shows is read from the run, so any process can go on.
import type { AgentEvent } from 'pocket-agent';
import type { ToolContext } from '../../account/account.ts';
import type { Log } from '../../base/log.ts';
import type { ApprovalButtons } from '../callbacks/approval-buttons.ts';
import { filesKey, postFiles } from '../posts/answer-files.ts';
import { AnswerPost } from '../posts/answer-post.ts';
import type { LinkHosts } from '../posts/link-hosts.ts';
import type { Question } from '../posts/questions.ts';
import { RunText } from '../text/run-text.ts';
import { ApprovalPosts, outcomeOf } from './approval-posts.ts';
import type { BotRunEvent, BotRunQuestion, BotRuns } from './bot-runs.ts';
import { OwnPosts, pendingIdOf } from './own-posts.ts';

export interface FollowedRunOptions {
  context: ToolContext;
  log: Log;
  runs: BotRuns;
  /** Of the run. */
  id: string;
  question: Question;
  me: string;
  editMs: number;
  linkHosts: LinkHosts;
  buttons: ApprovalButtons | undefined;
  /** Shows the typing indicator. */
  typing(question: Question): void;
  mayStop(question: Question, userId: string): boolean;
  /** Aborted when the bot closes. */
  signal: AbortSignal;
}

const TYPING_INTERVAL_MS = 4000;

export class FollowedRun {
  readonly options: FollowedRunOptions;
  readonly #approvals: ApprovalPosts;
  #answer: AnswerPost | undefined;

  constructor(options: FollowedRunOptions) {
    const { context, log, runs, id: run, question, me, buttons } = options;
    this.options = options;
    this.#approvals = new ApprovalPosts({ api: context.api, log, runs, run, question, me, buttons });
  }

  /** Resolves when the answer is posted. With `isNew`, no earlier process has posted anything. */
  async follow({ isNew }: { isNew: boolean }): Promise<void> {
    const { context, log, runs, id, question, me, editMs, linkHosts, typing, signal } = this.options;
    const approvals = this.#approvals;
    const { api, config } = context;
    const { channelId, rootId, postId: questionId } = question;
    const posts = isNew ? new OwnPosts() : await OwnPosts.read(api, question, me);
    const pendingId = pendingIdOf(question);
    const allowsLink = (url: URL) => linkHosts.allows(url);
    const target = { channelId, rootId, questionId, pendingId, written: posts.parts(pendingId) };
    const answer = new AnswerPost({ api, log, ...target, editMs, backoffMs: config.backoffMs, signal, allowsLink });
    this.#answer = answer;
    const stillTyping = setInterval(() => approvals.isWaiting || typing(question), TYPING_INTERVAL_MS);
    typing(question);
    try {
      const text = new RunText();
      const show = () => answer.show(text.progress, { isUrgent: text.answer !== '' });
      const onEvent = (event: AgentEvent) => {
        if (text.handleLive(event)) show();
      };
      for await (const event of runs.events(id, { signal, onEvent })) {
        if (text.handleJournaled(event)) show();
        const end = await this.#handle(event, posts);
        if (end === undefined) continue;
        await approvals.close();
        const said = [text.answer, end.note].filter((part) => part !== '').join('\n\n');
        const shown = said || end.result || (text.files.length > 0 ? ':paperclip:' : '*(no answer)*');
        while (!(await answer.finish(shown))) signal.throwIfAborted();
        if (posts.get(filesKey(pendingId))) continue;
        await postFiles(text.files, { api, log, channelId, rootId, pendingId, maxBytes: config.maxFileBytes });
      }
    } finally {
      clearInterval(stillTyping);
      await answer.stop();
    }
  }

  async readReactions(): Promise<void> {
    await this.#approvals.readReactions();
  }

  react(userId: string, postId: string, emoji: string): Promise<boolean> {
    return this.#approvals.react(userId, postId, emoji);
  }

  /** Undefined if the approval question is not an open one of this run. */
  decide(question: string, userId: string, isAllowed: boolean): Promise<string | undefined> {
    return this.#approvals.decide(question, userId, isAllowed);
  }

  /** Whether the post is the question or part of its answer. */
  isAbout(postId: string): boolean {
    return this.options.question.postId === postId || this.#answer?.has(postId) === true;
  }

  async stop(userId: string): Promise<void> {
    const { runs, id, question, mayStop, log } = this.options;
    if (mayStop(question, userId)) await runs.cancel(id);
    else log.debug('stop_refused', { post_id: question.postId, user_id: userId });
  }

  /** How the run has ended, if it has. */
  async #handle({ type, data }: BotRunEvent, posts: OwnPosts): Promise<{ note: string; result: string } | undefined> {
    if (type === 'question') await this.#approvals.ask(data as BotRunQuestion, posts);
    else if (type === 'answer') {
      const { question, text } = outcomeOf(data);
      await this.#approvals.settle(question, text);
    } else if (type === 'cancelled') return { note: '*(stopped)*', result: '' };
    else if (type === 'failed') {
      const { code } = data as { code: string };
      this.options.log.error('run_failed', { post_id: this.options.question.postId, code });
      return { note: `:warning: Sorry, that did not work (${code}).`, result: '' };
    } else if (type === 'finished') {
      const { answer } = data as { answer: unknown };
      return { note: '', result: typeof answer === 'string' ? answer.trim() : '' };
    }
    return undefined;
  }
}
