// The open conversations of a bot without durable runs. Idle ones are closed.
import { errorText } from '@pocket-agent/kit';
import type { Log } from '../base/log.ts';
import type { Conversation } from './conversation.ts';
import type { Question } from './posts/questions.ts';

const MAX_OPEN = 500;
const IDLE_MS = 3_600_000;

interface ConversationsOptions {
  create(question: Question): Conversation;
  log: Log;
}

export class Conversations {
  readonly #options: ConversationsOptions;
  readonly #open = new Map<string, Conversation>();

  constructor(options: ConversationsOptions) {
    this.#options = options;
  }

  ask(question: Question): void {
    const existing = this.#open.get(question.conversation);
    if (existing) {
      existing.ask(question);
      return;
    }
    this.#closeIdle();
    const conversation = this.#options.create(question);
    this.#open.set(question.conversation, conversation);
    conversation.ask(question);
  }

  /** Stops the answer that the post belongs to. */
  stop(userId: string, postId: string): void {
    for (const conversation of this.#open.values()) if (conversation.isAbout(postId)) conversation.stop(userId);
  }

  async close(): Promise<void> {
    const conversations = [...this.#open.values()];
    this.#open.clear();
    await Promise.allSettled(conversations.map((conversation) => conversation.close()));
  }

  /** The bot reads the saved conversation or the thread again. */
  #closeIdle(): void {
    const idle = [...this.#open].filter(([, { isIdle }]) => isIdle);
    idle.sort(([, one], [, other]) => one.lastUsed - other.lastUsed);
    for (const [key, conversation] of idle) {
      const isExpired = Date.now() - conversation.lastUsed > IDLE_MS;
      if (!isExpired && this.#open.size < MAX_OPEN) return;
      this.#open.delete(key);
      conversation.close().catch((error) => this.#options.log.warning('close_failed', { error: errorText(error) }));
    }
  }
}
