// Text from servers and models made harmless for a terminal: nothing in it moves the cursor or hides what follows.

/** Control characters, and those that are not seen or turn the direction of writing. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

/** One line, no longer than `most` characters. */
export function printable(text: string, most = Number.POSITIVE_INFINITY): string {
  return bounded(text.replace(/\s+/g, ' ').trim().replace(unseen, '�'), most);
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
  return text.length <= most ? text : `${text.slice(0, most)}… (${text.length - most} more characters)`;
}
