// Pictures in what was said before: the newest few stay, of the others only a note.

/** In base64, which is a third longer than the picture. */
const MOST_CHARACTERS = 6_000_000;
const NOTE = { type: 'text', text: '(a picture that is kept no longer; whoever has it can send it again)' };

/** Messages are given as they were written down, the newest first. */
export class PictureRoom {
  #left = MOST_CHARACTERS;

  /** The same without pictures that there is no room for. */
  fitted(json: string): string {
    if (!json.includes('"type":"file"')) return json;
    return JSON.stringify(JSON.parse(json, (_key, value: unknown) => (this.#takes(value) ? value : NOTE)));
  }

  #takes(value: unknown): boolean {
    const size = pictureSize(value);
    this.#left -= size;
    return size === 0 || this.#left >= 0;
  }
}

/** In characters of base64; 0 for what is no picture. They stand in questions and in results of tools. */
export function pictureSize(value: unknown): number {
  if (typeof value !== 'object' || value === null || !('type' in value) || value.type !== 'file') return 0;
  const data: unknown = Reflect.get(value, 'data');
  const inside: unknown = typeof data === 'object' && data !== null ? Reflect.get(data, 'data') : undefined;
  return typeof inside === 'string' ? inside.length : 0;
}
