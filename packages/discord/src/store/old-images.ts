// Limits images in the history: the newest stay, older ones become a note.
import type { Turn } from '@pocket-agent/store';
import type { Message } from 'pocket-agent';

/** Characters of base64, which is a third longer than the image. */
const MAX_CHARACTERS = 6_000_000;
const NOTE = { type: 'text', text: '(an image that is no longer stored; ask the user to send it again)' };

/** Turns in which nothing changes are the same objects. */
export function withoutOldImages(turns: readonly Turn<Message>[]): Turn<Message>[] {
  const budget = new ImageBudget();
  const newestFirst = turns.toReversed().map((turn) => {
    const messages = turn.messages.toReversed().map((message) => budget.fit(message));
    const isChanged = messages.some((message, index) => message !== turn.messages.at(-1 - index));
    return isChanged ? { ...turn, messages: messages.reverse() } : turn;
  });
  return newestFirst.reverse();
}

/** Takes messages, newest first. */
class ImageBudget {
  #remaining = MAX_CHARACTERS;

  /** The message without images that exceed the limit. */
  fit(message: Message): Message {
    let isChanged = false;
    const json = JSON.stringify(message, (_key, value: unknown) => {
      if (this.#hasRoomFor(value)) return value;
      isChanged = true;
      return NOTE;
    });
    return isChanged ? JSON.parse(json) : message;
  }

  #hasRoomFor(value: unknown): boolean {
    const size = imageSize(value);
    this.#remaining -= size;
    return size === 0 || this.#remaining >= 0;
  }
}

/** Characters of base64; 0 if the value is not an image. Images occur in questions and in tool results. */
export function imageSize(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('type' in value) || value.type !== 'file') return 0;
  const data: unknown = Reflect.get(value, 'data');
  const inside: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'data') : undefined;
  return typeof inside === 'string' ? inside.length : 0;
}
