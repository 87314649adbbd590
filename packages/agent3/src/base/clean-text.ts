// Cleans third-party text: removes invisible characters, terminal escapes and our secrets, and limits its length.

const [start, csi, bell] = [0x1b, 0x9b, 0x07].map((code) => String.fromCharCode(code));
/** Terminal escape sequences; the length of each is bounded so that matching takes linear time. */
const commands = new RegExp(
  `(?:${start}\\[|${csi})[0-?]{0,64}[ -/]{0,8}[@-~]|${start}[\\]PX^_][^${bell}${start}]{0,1000}(?:${bell}|${start}\\\\)?`,
  'g',
);
/** Control characters, bidirectional and invisible characters, and variation selectors that can carry hidden text. */
const unseen = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]|[\u{e0100}-\u{e01ef}]/gu;
const lineBreaks = /\r\n?|[\u2028\u2029\u0085]/g;

export function cleanText(text: string): string {
  return text.replace(commands, '').replace(lineBreaks, '\n').replace(unseen, '').toWellFormed();
}

/** Cleaned text of at most `maxLength` characters. */
export function cleanExcerpt(text: string, maxLength: number): string {
  const clean = cleanText(text.slice(0, maxLength * 4)).trim();
  return clean.length <= maxLength ? clean : `${clean.slice(0, maxLength - 1).toWellFormed()}…`;
}

/** Cleaned text on one line, without the secrets the redactor knows. */
export function cleanLine(text: string, maxLength: number, redactor = new Redactor()): string {
  const line = redactor
    .beginning(text, maxLength * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= maxLength ? line : `${line.slice(0, maxLength)}…`;
}

const REMOVED = '[secret removed]';
const MIN_SECRET_LENGTH = 4;
/** From this length on, searching with `replaceAll` can take quadratic time on repetitive input. */
const LONG_SECRET = 200;

/** Removes secrets that were sent to an agent from its answers, because agents may echo them. */
export class Redactor {
  #secrets: string[] = [];
  readonly #prefixTables = new Map<string, Uint32Array>();

  add(secrets: readonly string[]): void {
    const forms = secrets.flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
    ]);
    const all = new Set([...this.#secrets, ...forms.filter(({ length }) => length >= MIN_SECRET_LENGTH)]);
    this.#secrets = [...all].sort((one, other) => other.length - one.length);
  }

  redact(text: string): string {
    return this.#secrets.reduce(
      (rest, secret) =>
        secret.length < LONG_SECRET
          ? rest.replaceAll(secret, REMOVED)
          : this.#piecesWithout(rest, secret).join(REMOVED),
      text,
    );
  }

  /** Splits streamed text: `safe` can be shown, `held` may be the beginning of a secret. */
  divide(text: string): { safe: string; held: string } {
    const redacted = this.redact(text);
    const prefixes = this.#secrets.map((secret) => secretPrefixAtEnd(redacted, secret, this.#prefixTable(secret)));
    const end = redacted.length - Math.max(0, ...prefixes);
    return { safe: redacted.slice(0, end), held: redacted.slice(end) };
  }

  /** The first `maxLength` characters, cleaned; a secret that is cut in half is removed too. */
  beginning(text: string, maxLength: number): string {
    const cleaned = cleanText(text.slice(0, maxLength));
    return text.length <= maxLength ? this.redact(cleaned) : this.divide(cleaned).safe;
  }

  holdsSecret(bytes: Buffer): boolean {
    const text = bytes.toString('latin1');
    return this.#secrets.some((secret) =>
      secret.length < LONG_SECRET
        ? bytes.includes(secret)
        : this.#piecesWithout(text, Buffer.from(secret).toString('latin1')).length > 1,
    );
  }

  /** `text.split(secret)` in linear time. */
  #piecesWithout(text: string, secret: string): string[] {
    const by = { secret, prefixes: this.#prefixTable(secret) };
    const pieces: string[] = [];
    let from = 0;
    for (let index = 0, count = 0; index < text.length; index++) {
      count = nextMatchLength(count, text[index], by);
      if (count < secret.length) continue;
      pieces.push(text.slice(from, index + 1 - count));
      from = index + 1;
      count = 0;
    }
    return [...pieces, text.slice(from)];
  }

  #prefixTable(secret: string): Uint32Array {
    const known = this.#prefixTables.get(secret) ?? prefixTable(secret);
    this.#prefixTables.set(secret, known);
    return known;
  }
}

/** The prefix table of the Knuth-Morris-Pratt search. */
function prefixTable(secret: string): Uint32Array {
  const prefixes = new Uint32Array(secret.length);
  for (let index = 1, count = 0; index < secret.length; index++) {
    count = nextMatchLength(count, secret[index], { secret, prefixes });
    prefixes[index] = count;
  }
  return prefixes;
}

/** Length of the longest prefix of the secret at the end of the text. Linear time, because agents may know the secret. */
function secretPrefixAtEnd(text: string, secret: string, prefixes: Uint32Array): number {
  let count = 0;
  for (let index = Math.max(0, text.length - secret.length + 1); index < text.length; index++)
    count = nextMatchLength(count, text[index], { secret, prefixes });
  return count;
}

function nextMatchLength(
  count: number,
  next: string | undefined,
  by: { secret: string; prefixes: Uint32Array },
): number {
  let matched = count;
  while (matched > 0 && by.secret[matched] !== next) matched = by.prefixes[matched - 1] ?? 0;
  return by.secret[matched] === next ? matched + 1 : matched;
}
