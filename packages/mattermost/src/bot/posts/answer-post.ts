// An answer that grows while the agent writes: its posts are edited about once a second, and the final edit is retried.

import { isMattermostError, isTransient } from '../../base/errors.ts';
import type { Log } from '../../base/log.ts';
import type { MattermostApi, NewPost } from '../../client/api.ts';
import { delay } from '../../client/deadline.ts';
import { path } from '../../client/path.ts';
import { backoff } from '../../client/retry.ts';
import { escapeMentions } from '../text/escape-mentions.ts';
import { makeLinksInert } from '../text/inert-links.ts';
import { MAX_MESSAGE_LENGTH, splitMessage } from '../text/split-message.ts';

interface AnswerPostOptions {
  api: MattermostApi;
  log: Log;
  channelId: string;
  /** First post of the thread; empty outside threads. */
  rootId: string;
  /** The post that is answered. */
  questionId: string;
  /** Unique per answer. Mattermost drops a second post with the same pending id for a short time. */
  pendingId: string;
  editMs: number;
  backoffMs: number;
  signal: AbortSignal;
  /** Whether a link stays clickable. */
  allowsLink: (url: URL) => boolean;
  /** The existing posts of this answer. */
  written?: readonly WrittenPost[];
}

/** Prop of every post of an answer: pending id of the answer and index of the post. */
export const ANSWER_PROP = 'pocket_agent_answer';

/** A post and its current text. */
export interface WrittenPost {
  id: string;
  message: string;
}

const MAX_FINISH_ATTEMPTS = 6;

export class AnswerPost {
  readonly #options: AnswerPostOptions;
  readonly #posts: WrittenPost[];
  #latestText = '';
  #sentText = '';
  /** The time of the next edit at the earliest. */
  #nextEditAt = 0;
  /** The first post waits, because its text is not urgent. */
  #isHeld = false;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isFinished = false;
  /** A post may exist although creating it failed. */
  #isOutcomeUnknown = false;

  constructor(options: AnswerPostOptions) {
    this.#options = options;
    this.#posts = (options.written ?? []).map((post) => ({ ...post }));
  }

  has(postId: string): boolean {
    return this.#posts.some(({ id }) => id === postId);
  }

  /**
   * Shows the text with the next edit, unless a newer text replaces it first; an empty one shows nothing. A first post that is not
   * urgent waits as long as an edit does.
   */
  show(text: string, { isUrgent }: { isUrgent: boolean }): void {
    this.#latestText = text;
    if (!isUrgent && this.#nextEditAt === 0) {
      this.#isHeld = true;
      this.#nextEditAt = Date.now() + this.#options.editMs;
    } else if (isUrgent && this.#isHeld) {
      this.#isHeld = false;
      this.#nextEditAt = 0;
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    this.#scheduleEdit();
  }

  /** Ends all edits. */
  async stop(): Promise<void> {
    this.#isFinished = true;
    clearTimeout(this.#timer);
    await this.#sending;
  }

  /** False if Mattermost cannot be reached; a later attempt may succeed. */
  async finish(text: string): Promise<boolean> {
    const { log, backoffMs, signal } = this.#options;
    await this.stop();
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#send(text);
        return true;
      } catch (error) {
        if (!isMattermostError(error)) throw error;
        log.warning('answer_not_sent', { code: error.code, attempt });
        if (!isTransient(error)) return true;
        if (attempt === MAX_FINISH_ATTEMPTS) return false;
        await delay(backoff(attempt, backoffMs), signal);
      }
    }
  }

  #scheduleEdit(): void {
    if (this.#isFinished || this.#sending || this.#timer || !this.#hasNews) return;
    const wait = Math.max(0, this.#nextEditAt - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#isHeld = false;
      if (this.#hasNews) this.#sending = this.#sendLatest();
    }, wait);
  }

  get #hasNews(): boolean {
    return this.#latestText !== '' && this.#latestText !== this.#sentText;
  }

  async #sendLatest(): Promise<void> {
    try {
      await this.#send(this.#latestText);
    } catch (error) {
      // the next edit contains this text too
      this.#options.log.debug('answer_not_shown', { code: isMattermostError(error) ? error.code : 'UNEXPECTED' });
    } finally {
      this.#nextEditAt = Date.now() + this.#options.editMs;
      this.#sending = undefined;
      this.#scheduleEdit();
    }
  }

  async #send(text: string): Promise<void> {
    const { api, allowsLink } = this.#options;
    this.#sentText = text;
    const parts = toMessages(text, allowsLink);
    for (const [index, message] of parts.entries()) {
      const post = this.#posts[index] ?? (await this.#create(index, message));
      if (post.message !== message) {
        await api.put(path`/posts/${post.id}/patch`, { message });
        post.message = message;
      }
    }
    for (const { id } of this.#posts.slice(parts.length).reverse()) {
      await api.delete(path`/posts/${id}`);
      this.#posts.pop();
    }
  }

  /** If an earlier attempt was stored after all, returns that post with its old text. */
  async #create(index: number, message: string): Promise<WrittenPost> {
    const { api, channelId, rootId, questionId, pendingId } = this.#options;
    const key = `${pendingId}:${index}`;
    const search = { channelId, after: questionId, prop: ANSWER_PROP, key };
    const found = this.#isOutcomeUnknown ? await api.findOwnPost(search) : undefined;
    this.#isOutcomeUnknown = true;
    const post: NewPost = { channel_id: channelId, root_id: rootId, message, pending_post_id: key };
    const created = found ?? (await api.createPost(post, ANSWER_PROP));
    this.#isOutcomeUnknown = false;
    const written = { id: created.id, message: created.message ?? message };
    this.#posts.push(written);
    return written;
  }
}

/** Splits and escapes the answer. Each part is escaped again, because a cut can break fences and code spans. */
function toMessages(text: string, allowsLink: (url: URL) => boolean): string[] {
  const escapeText = (part: string) => escapeMentions(makeLinksInert(part, allowsLink));
  // Mattermost cannot store NUL characters
  return splitMessage(escapeText(text.replaceAll('\0', ''))).map((part) => {
    let escaped = escapeText(part);
    while (escaped !== part && [...escaped].length > MAX_MESSAGE_LENGTH)
      escaped = escapeText([...escaped].slice(0, MAX_MESSAGE_LENGTH).join(''));
    return escaped;
  });
}
