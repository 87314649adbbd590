// Stores the messages of a run in order, while it runs.
import { type Message, textOf } from 'pocket-agent';
import type { History } from '../store/history.ts';

export class TurnLog {
  readonly messages: Message[] = [];
  readonly #history: History;
  readonly conversation: string;
  readonly claim: string;
  #written: Promise<void> = Promise.resolve();

  constructor(history: History, { conversation, claim }: { conversation: string; claim: string }) {
    this.#history = history;
    this.conversation = conversation;
    this.claim = claim;
  }

  add(message: Message): void {
    this.messages.push(message);
    const turn = { turn: this.claim, messages: [message] };
    this.#written = this.#written.then(() => this.#history.append(this.conversation, turn));
    this.#written.catch(() => {}); // `written` reports it
  }

  /** Resolves when all messages are stored. */
  written(): Promise<void> {
    return this.#written;
  }
}

export function hasToolCalls(messages: readonly Message[]): boolean {
  return messages.some(({ role, content }) => role === 'assistant' && content.some(({ type }) => type === 'tool-call'));
}

/** The visible text of a turn. */
export function shownText(messages: readonly Message[]): string {
  return messages.flatMap((message) => (message.role === 'assistant' ? textOf(message) || [] : [])).join('\n\n');
}

export function assistantText(text: string): Message {
  return { role: 'assistant', content: [{ type: 'text', text }] };
}
