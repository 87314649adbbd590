// Answers by durable runs: each question is a run that any later process finds, and shows where the one before stopped.
import { errorText, isPocketError, isRecord } from '@pocket-agent/kit';
import type { UserInput } from 'pocket-agent';
import type { ToolContext } from '../../account/account.ts';
import { isMattermostError, isTransient, type MattermostErrorCode } from '../../base/errors.ts';
import type { MattermostApi } from '../../client/api.ts';
import { delay } from '../../client/deadline.ts';
import { path } from '../../client/path.ts';
import { backoff } from '../../client/retry.ts';
import { AnswerPost } from '../posts/answer-post.ts';
import { readAttachments } from '../posts/attachments.ts';
import { LinkHosts } from '../posts/link-hosts.ts';
import type { Question, Questions } from '../posts/questions.ts';
import { isMemoryCommand } from '../text/memory-command.ts';
import type { BotRun, BotRuns, DurableAnswersOptions } from './bot-runs.ts';
import { FollowedRun, type FollowedRunOptions } from './followed-run.ts';
import { OwnPosts, pendingIdOf } from './own-posts.ts';

interface DurableAnswersParts
  extends Pick<FollowedRunOptions, 'log' | 'me' | 'editMs' | 'buttons' | 'typing' | 'mayStop'> {
  durable: DurableAnswersOptions;
  context: ToolContext;
  questions: Questions;
  allowLinkHosts: readonly string[];
  command(question: Question): Promise<string | undefined>;
  /** The bot reads posts since this time. */
  since: number;
  stopSigns: readonly string[];
}

/** What the bot notes in `about` of a run. */
interface About {
  question: Question;
  /** The time of the post of the question, and since when the bot reads posts. */
  postedAt: number;
  since: number;
}

const MAX_QUEUED = 20;
const PAGE = 1000;
/** Questions of a conversation whose links count as named. */
const MAX_EARLIER = 100;
/** How long reading a post may have been retried when the last process ended. */
const REREAD_MS = 3_600_000;
const CATEGORY = 'pocket_agent_bot';
const NAME = 'reads_since';
/** The channel was deleted, or the bot may not write there any more. */
const HOPELESS: readonly MattermostErrorCode[] = ['NOT_FOUND', 'REFUSED', 'CLIENT_ERROR'];

interface Reading {
  api: MattermostApi;
  runs: BotRuns;
  me: string;
  /** The time after the newest post. */
  latest: number;
}

/**
 * Since when posts may not have been read. The newest run says it; before the first one, a preference of the account does, which
 * is the time at which a bot with durable runs began to read.
 */
export async function unreadSince({ api, runs, me, latest }: Reading): Promise<number> {
  const [newest] = (await runs.list({ prefix: prefixOf(me), limit: 1 })).runs;
  if (newest) {
    const { since, postedAt } = aboutOf(newest);
    return Math.min(latest, Math.max(since, postedAt - REREAD_MS));
  }
  const preferences = path`/users/${me}/preferences`;
  const all = await api.list<{ category?: string; name?: string; value?: string }>(preferences);
  const begun = all.find(({ category, name }) => category === CATEGORY && name === NAME)?.value;
  if (begun !== undefined) return Math.min(latest, Math.max(Number(begun), Date.now() - REREAD_MS));
  await api.put(preferences, [{ user_id: me, category: CATEGORY, name: NAME, value: String(latest) }]);
  return latest;
}

export class DurableAnswers {
  readonly #parts: DurableAnswersParts;
  readonly #followed = new Map<string, { run: FollowedRun; ended: Promise<void> }>();
  readonly #closing = new AbortController();

  constructor(parts: DurableAnswersParts) {
    this.#parts = parts;
  }

  /** Goes on with the answers that earlier processes did not finish. */
  async recover(): Promise<void> {
    const { durable, me } = this.#parts;
    let cursor: string | undefined;
    do {
      const filter = { prefix: prefixOf(me), undelivered: true as const, limit: PAGE };
      const { runs, next } = await durable.runs.list({ ...filter, ...(cursor === undefined ? {} : { cursor }) });
      for (const run of runs) await this.#follow(run.id, aboutOf(run).question, { isNew: false });
      cursor = next;
    } while (cursor !== undefined);
  }

  /** Starts the run of a question, unless there is one. */
  async ask(question: Question, postedAt: number): Promise<void> {
    const { durable, me, since, log } = this.#parts;
    const { runs, agent } = durable;
    const { postId, userId: caller } = question;
    const id = `${prefixOf(me)}${postId}`;
    if (this.#followed.has(id) || (await runs.get(id))) return;
    if (isMemoryCommand(question.text) && (await this.#answerCommand(question))) return;
    const conversation = `${prefixOf(me)}${question.conversation}`;
    const queued = [...this.#followed.values()].filter(
      ({ run }) => run.options.question.conversation === question.conversation,
    );
    if (queued.length >= MAX_QUEUED) {
      log.warning('question_dropped', { post_id: postId, queued: MAX_QUEUED });
      return;
    }
    const about: About = { question, postedAt, since };
    const input = await this.#inputOf(question, conversation);
    await runs.start(agent, input, { id, caller, conversation, about: { ...about }, deliver: true });
    await this.#follow(id, question, { isNew: true });
  }

  /** A reaction to a post. */
  async react(userId: string, postId: string, emoji: string): Promise<void> {
    const { log, stopSigns, me } = this.#parts;
    if (userId === me) return;
    try {
      for (const { run } of this.#followed.values()) {
        if (await run.react(userId, postId, emoji)) return;
        if (stopSigns.includes(emoji) && run.isAbout(postId)) await run.stop(userId);
      }
    } catch (error) {
      log.warning('reaction_not_read', { post_id: postId, error: errorText(error).slice(0, 200) });
    }
  }

  /** Answers an approval by a button: what to tell the user, or undefined if the question is not open. */
  async decide(question: string, userId: string, isAllowed: boolean): Promise<string | undefined> {
    for (const { run } of this.#followed.values()) {
      const text = await run.decide(question, userId, isAllowed);
      if (text !== undefined) return text;
    }
    return undefined;
  }

  /** Reads the reactions to open questions: some may have come while the bot had no connection. */
  async readReactions(): Promise<void> {
    for (const { run } of [...this.#followed.values()]) await run.readReactions();
  }

  /** Shows nothing any more. The runs go on, here or in the next process. */
  async close(): Promise<void> {
    this.#closing.abort(new Error('The bot was closed.'));
    await Promise.all([...this.#followed.values()].map(({ ended }) => ended));
  }

  /** Resolves as soon as it is followed. */
  async #follow(id: string, question: Question, { isNew }: { isNew: boolean }): Promise<void> {
    const { durable, context, log, me, editMs, buttons, typing, mayStop } = this.#parts;
    const { signal } = this.#closing;
    if (this.#followed.has(id) || signal.aborted) return;
    const linkHosts = await this.#linkHostsOf(question);
    const options = { context, log, runs: durable.runs, me, editMs, buttons, typing, mayStop, signal };
    const run = new FollowedRun({ ...options, id, question, linkHosts });
    const ended = this.#keepFollowing(run, isNew).finally(() => this.#followed.delete(id));
    this.#followed.set(id, { run, ended });
  }

  async #keepFollowing(run: FollowedRun, isNew: boolean): Promise<void> {
    const { log, durable, context } = this.#parts;
    const { signal } = this.#closing;
    const { id, question } = run.options;
    for (let attempt = 0; !signal.aborted; attempt++) {
      try {
        await run.follow({ isNew: isNew && attempt === 0 });
        await durable.runs.delivered(id);
        return;
      } catch (error) {
        if (signal.aborted || isGone(error)) return;
        if (isMattermostError(error) && HOPELESS.includes(error.code)) return this.#giveUp(run, error);
        log.warning('run_not_shown', { post_id: question.postId, error: errorText(error).slice(0, 200) });
        if (isMattermostError(error, 'AUTHENTICATION_FAILED')) return; // the bot stops
        await delay(backoff(attempt, context.config.backoffMs), signal).catch(() => {}); // ends the loop
      }
    }
  }

  /** No answer can be shown, and no call approved. */
  async #giveUp({ options: { id, question } }: FollowedRun, error: Error): Promise<void> {
    const { log, durable } = this.#parts;
    log.error('run_given_up', { post_id: question.postId, error: error.message.slice(0, 200) });
    try {
      await durable.runs.cancel(id);
      await durable.runs.delivered(id);
    } catch (failure) {
      log.warning('run_not_cancelled', { post_id: question.postId, error: errorText(failure).slice(0, 200) });
    }
  }

  /** The first question of a conversation comes with the messages before it. */
  async #inputOf(question: Question, conversation: string): Promise<string | UserInput> {
    const { durable, questions, context, log } = this.#parts;
    const { allowImages = false, runs, summarize } = durable;
    const isContinued = (await runs.list({ conversation, limit: 1 })).runs.length > 0;
    const earlier = isContinued ? '' : await questions.earlier(question, summarize);
    const { kept, notes } = await readAttachments(question.attachments, { context, log, allowImages });
    const message = [`${question.username}: ${question.text}`, ...notes].join('\n');
    const text = earlier === '' ? message : `${earlier}\n\nNew message:\n${message}`;
    return kept.length === 0 ? text : { text, files: kept.map(({ file }) => file) };
  }

  async #linkHostsOf(question: Question): Promise<LinkHosts> {
    const { durable, me, context, allowLinkHosts } = this.#parts;
    const hosts = new LinkHosts(allowLinkHosts, context.config.url);
    const conversation = `${prefixOf(me)}${question.conversation}`;
    const { runs } = await durable.runs.list({ conversation, limit: MAX_EARLIER });
    for (const run of runs) hosts.allowHostsIn(aboutOf(run).question.text);
    return hosts;
  }

  /** A command is answered once, although its post may be read again after a restart. False if it is none. */
  async #answerCommand(question: Question): Promise<boolean> {
    const { context, log, me, editMs, command } = this.#parts;
    const { api, config } = context;
    const { channelId, rootId, postId: questionId } = question;
    const pendingId = pendingIdOf(question);
    if ((await OwnPosts.read(api, question, me)).get(`${pendingId}:0`)) return true;
    const text = await command(question);
    if (text === undefined) return false;
    const { signal } = this.#closing;
    const target = { channelId, rootId, questionId, pendingId };
    const allowsLink = () => false;
    const options = { api, log, editMs, backoffMs: config.backoffMs, signal, allowsLink };
    await new AnswerPost({ ...options, ...target }).finish(text);
    return true;
  }
}

/** Whether asking may work later: Mattermost or the database may be back then. */
export function mayAskLater(error: unknown): boolean {
  return isMattermostError(error) ? isTransient(error) : !isPocketError(error) && !isRunError(error);
}

function isRunError(error: unknown): boolean {
  return isRecord(error) && typeof error.code === 'string' && error.code.startsWith('RUN_');
}

/** The run was deleted. */
function isGone(error: unknown): boolean {
  return isRecord(error) && error.code === 'RUN_UNKNOWN';
}

function prefixOf(me: string): string {
  return `mattermost/${me}/`;
}

/** Written by `ask`. */
function aboutOf({ about }: BotRun): About {
  return about as unknown as About;
}
