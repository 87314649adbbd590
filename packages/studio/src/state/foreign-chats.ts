// Conversations that take place in other programs, or in other parts of this one. The studio shows them and answers their questions.
import type { ChatInfo } from '../wire/wire.ts';
import type { Journal } from './journal.ts';

/** The oldest that are not running are closed beyond this. */
const MAX_CHATS = 500;

export class ForeignChats {
  readonly #journal: Journal;
  /** Oldest first. */
  readonly #chats = new Map<string, ChatInfo>();

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  list(): ChatInfo[] {
    return [...this.#chats.values()];
  }

  get(id: string): ChatInfo | undefined {
    return this.#chats.get(id);
  }

  /** A new one, or one that has changed. */
  show(chat: ChatInfo): void {
    const shown = { ...chat, isElsewhere: true };
    this.#chats.set(chat.id, shown);
    this.#journal.add({ type: 'chat', chat: shown });
    const idle = this.#chats.size > MAX_CHATS ? this.list().find(({ isRunning }) => !isRunning) : undefined;
    if (idle) this.close(idle.id);
  }

  close(id: string): void {
    if (this.#chats.delete(id)) this.#journal.add({ type: 'chat_closed', chatId: id });
  }
}
