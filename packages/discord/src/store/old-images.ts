// Limits images in the history: the newest stay, older ones become a note.

/** Characters of base64, which is a third longer than the image. */
const MAX_CHARACTERS = 6_000_000;
const NOTE = { type: 'text', text: '(an image that is no longer stored; ask the user to send it again)' };

/** Takes stored messages, newest first. */
export class ImageBudget {
  #remaining = MAX_CHARACTERS;

  /** The message without images that exceed the limit. */
  fit(json: string): string {
    if (!json.includes('"type":"file"')) return json;
    return JSON.stringify(JSON.parse(json, (_key, value: unknown) => (this.#hasRoomFor(value) ? value : NOTE)));
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
