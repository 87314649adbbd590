// An answer that is written while it is read: its messages are edited about once a second, and the last edit arrives.

import { isMattermostError, isPassing } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { MattermostApi, NewPost } from '../client/api.ts';
import { delay } from '../client/deadline.ts';
import { path } from '../client/path.ts';
import { backoff } from '../client/retry.ts';
import { escapeMentions } from './text/escape-mentions.ts';
import { inertLinks } from './text/inert-links.ts';
import { LONGEST_MESSAGE, splitMessage } from './text/split-message.ts';

interface AnswerPostOptions {
  api: MattermostApi;
  log: Log;
  channelId: string;
  /** The message whose thread it belongs to; empty for none. */
  rootId: string;
  /** What is answered. */
  questionId: string;
  /** Mattermost drops the second of two messages with the same, if they come close together; unique to this answer. */
  pendingId: string;
  editMs: number;
  backoffMs: number;
  signal: AbortSignal;
  /** Whether a link may stay one. */
  allowsLink: (url: URL) => boolean;
}

/** In the props of every message of an answer: which answer it is of, and the number of the message. */
export const ANSWER_PROP = 'pocket_agent_answer';

interface WrittenPost {
  id: string;
  message: string;
}

const LAST_ATTEMPTS = 6;

export class AnswerPost {
  readonly #options: AnswerPostOptions;
  readonly #posts: WrittenPost[] = [];
  #wanted = '';
  #sent = '';
  #sentAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<void> | undefined;
  #isFinished = false;
  /** A message may be there though creating it failed. */
  #isUnclear = false;

  constructor(options: AnswerPostOptions) {
    this.#options = options;
  }

  has(postId: string): boolean {
    return this.#posts.some(({ id }) => id === postId);
  }

  /** Seen soon, or overtaken by what comes after it. */
  show(text: string): void {
    this.#wanted = text;
    this.#wake();
  }

  async finish(text: string): Promise<void> {
    const { log, backoffMs, signal } = this.#options;
    this.#isFinished = true;
    clearTimeout(this.#timer);
    await this.#sending;
    for (let attempt = 1; ; attempt++) {
      try {
        await this.#send(text);
        return;
      } catch (error) {
        if (!isMattermostError(error)) throw error;
        log.warning('answer_not_sent', { code: error.code, attempt });
        if (attempt === LAST_ATTEMPTS || !isPassing(error)) return;
        await delay(backoff(attempt, backoffMs), signal);
      }
    }
  }

  #wake(): void {
    if (this.#isFinished || this.#sending || this.#timer || this.#wanted === this.#sent) return;
    const wait = Math.max(0, this.#sentAt + this.#options.editMs - Date.now());
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#sending = this.#sendNow();
    }, wait);
  }

  async #sendNow(): Promise<void> {
    try {
      await this.#send(this.#wanted);
    } catch (error) {
      // the next edit says all of this one, too
      this.#options.log.debug('answer_not_shown', { code: isMattermostError(error) ? error.code : 'UNEXPECTED' });
    } finally {
      this.#sentAt = Date.now();
      this.#sending = undefined;
      this.#wake();
    }
  }

  async #send(text: string): Promise<void> {
    const { api, allowsLink } = this.#options;
    this.#sent = text;
    const parts = messagesOf(text, allowsLink);
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

  /** When an earlier attempt was stored after all, Mattermost gives that one, with what it said then. */
  async #create(index: number, message: string): Promise<WrittenPost> {
    const { api, channelId, rootId, questionId, pendingId } = this.#options;
    const key = `${pendingId}:${index}`;
    // stored after all, however long ago
    const search = { channelId, after: questionId, mark: ANSWER_PROP, key };
    const found = this.#isUnclear ? await api.findOwnPost(search) : undefined;
    this.#isUnclear = true;
    const post: NewPost = { channel_id: channelId, root_id: rootId, message, pending_post_id: key };
    const created = found ?? (await api.createPost(post, ANSWER_PROP));
    this.#isUnclear = false;
    const written = { id: created.id, message: created.message ?? message };
    this.#posts.push(written);
    return written;
  }
}

/** Escaped again after each cut: a line may have become a fence or stopped being one, a code span may have lost its end. */
function messagesOf(text: string, allowsLink: (url: URL) => boolean): string[] {
  const made = (part: string) => escapeMentions(inertLinks(part, allowsLink));
  // a NUL character cannot be stored
  return splitMessage(made(text.replaceAll('\0', ''))).map((part) => {
    let escaped = made(part);
    while (escaped !== part && [...escaped].length > LONGEST_MESSAGE)
      escaped = made([...escaped].slice(0, LONGEST_MESSAGE).join(''));
    return escaped;
  });
}
