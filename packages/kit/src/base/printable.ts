// Makes text from servers and models safe to print: it cannot move the cursor or hide what follows.

/**
 * Control characters, invisible characters and those that change the writing direction. Blank letters and symbols are
 * included: with them a server could fill a line and fake one of our prompts on the next one.
 */
const invisible = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** The same, except line breaks, tabs, and joiners inside emoji and words. */
const invisibleInText =
  /[\n\t]|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{L}\p{M}*)(?:\u200c|\u200d)(?=\p{L})|([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])/gu;

/** The end of a piece that depends on the next one: half a surrogate pair, or a joiner. */
const undecided = /(?:(?:\u200c|\u200d|\r)[\ud800-\udbff]?|[\ud800-\udbff])$/u;

/** How far back `invisibleInText` looks to judge a joiner. */
const CONTEXT = 16;

/** One line of at most `maxLength` characters. */
export function printable(text: string, maxLength = Number.POSITIVE_INFINITY): string {
  return truncate(text.replace(/\s+/g, ' ').trim().replace(invisible, '�'), maxLength);
}

/** Text of several lines, with invisible characters replaced. */
export function printableText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(invisibleInText, (found, unsafe: string | undefined) => (unsafe === undefined ? found : '�'));
}

/** `printableText` for text that arrives in pieces, which may end in the middle of a character. */
export class PrintableStream {
  #before = '';
  #held = '';

  push(piece: string): string {
    const text = this.#held + piece;
    this.#held = undecided.exec(text)?.[0] ?? '';
    return this.#show(text.slice(0, text.length - this.#held.length));
  }

  end(): string {
    const rest = this.#show(this.#held);
    this.#before = '';
    this.#held = '';
    return rest;
  }

  #show(text: string): string {
    const before = this.#before;
    this.#before = (before + text).slice(-CONTEXT);
    return printableText(before + text).slice(printableText(before).length);
  }
}

/** JSON with every invisible character escaped. It parses to the same value. */
export function printableJson(value: unknown): string {
  return escapeInvisible(JSON.stringify(value) ?? 'undefined');
}

/** Writes invisible characters as `\\u…`. */
export function escapeInvisible(text: string): string {
  const escapeUnit = (unit: string) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
  return text.replace(invisible, (character) => character.split('').map(escapeUnit).join(''));
}

/** At most `maxLength` characters, followed by how many were cut. */
export function truncate(text: string, maxLength: number): string {
  const short = `${text.slice(0, maxLength)}… (${text.length - maxLength} more characters)`;
  return text.length > maxLength && short.length < text.length ? short : text;
}
