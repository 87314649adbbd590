// Text from servers and models made harmless for a terminal: nothing in it moves the cursor or hides what follows.

/**
 * Control characters, and those that are not seen or turn the direction of writing. Blank letters and symbols count as
 * unseen: with them a server could fill a line and make up a prompt of ours on the next one.
 */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\u115f\u1160\u2800\u3164\uffa0]/gu;

/** The same, but for line breaks, tabs, and the joiners inside of emoji and of words. */
const unseenInText =
  /[\n\t]|(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\ufe0f)\u200d(?=\p{Extended_Pictographic})|(?<=\p{L}\p{M}*)(?:\u200c|\u200d)(?=\p{L})|([\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}])/gu;

/** The end of a text that cannot be judged before more of it is there: half a character, or a joiner of two. */
const undecided = /(?:(?:\u200c|\u200d|\r)[\ud800-\udbff]?|[\ud800-\udbff])$/u;

/** As far as one looks back to judge a joiner. */
const CONTEXT = 16;

/** One line, no longer than `most` characters. */
export function printable(text: string, most = Number.POSITIVE_INFINITY): string {
  return bounded(text.replace(/\s+/g, ' ').trim().replace(unseen, '�'), most);
}

/** Text of several lines as it is, but for what is not seen. */
export function printableText(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(unseenInText, (found, isUnseen: string | undefined) => (isUnseen === undefined ? found : '�'));
}

/** The same for a text that comes in pieces, which may end in the middle of a character. */
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

/** JSON in which every unseen character is written out. It means the same as the value. */
export function printableJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'undefined').replace(unseen, (characters) =>
    [...Array(characters.length).keys()]
      .map((index) => `\\u${characters.charCodeAt(index).toString(16).padStart(4, '0')}`)
      .join(''),
  );
}

export function bounded(text: string, most: number): string {
  const short = `${text.slice(0, most)}… (${text.length - most} more characters)`;
  return text.length > most && short.length < text.length ? short : text;
}
