// The words of strangers, made harmless: nothing unseen in them, no secret of ours, no more than asked for.

const [start, csi, bell] = [0x1b, 0x9b, 0x07].map((code) => String.fromCharCode(code));
/** What terminals obey, each of a bounded length: so a text is read in linear time. */
const commands = new RegExp(
  `(?:${start}\\[|${csi})[0-?]{0,64}[ -/]{0,8}[@-~]|${start}[\\]PX^_][^${bell}${start}]{0,1000}(?:${bell}|${start}\\\\)?`,
  'g',
);
/** Control characters, what turns the direction of writing or is not seen, and selectors that can carry hidden text. */
const unseen = /(?![\n\t\u200c\u200d])[\p{Cc}\p{Cf}]|[\u{e0100}-\u{e01ef}]/gu;
const lineBreaks = /\r\n?|[\u2028\u2029\u0085]/g;

export function cleanText(text: string): string {
  return text.replace(commands, '').replace(lineBreaks, '\n').replace(unseen, '').toWellFormed();
}

/** One line of at most so many characters, without the secrets that a redactor knows. */
export function cleanLine(text: string, most: number, redactor = new Redactor()): string {
  const line = redactor
    .beginning(text, most * 4)
    .replace(/\s+/g, ' ')
    .trim();
  return line.length <= most ? line : `${line.slice(0, most)}…`;
}

const REMOVED = '[secret removed]';
const MIN_SECRET_LENGTH = 4;
/** From here on a search by Node itself takes as long as text and secret multiplied, if they repeat themselves. */
const LONG_SECRET = 200;

/** Takes the secrets that were sent out of whatever comes back: an agent may echo them. */
export class Redactor {
  #secrets: string[] = [];
  readonly #repeats = new Map<string, Uint32Array>();

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

  /** Of a text that goes on: what can be told of it, and its end if that may be the beginning of a secret. */
  divide(text: string): { told: string; held: string } {
    const redacted = this.redact(text);
    const begun = this.#secrets.map((secret) => begunIn(redacted, secret, this.#repeatsOf(secret)));
    const end = redacted.length - Math.max(0, ...begun);
    return { told: redacted.slice(0, end), held: redacted.slice(end) };
  }

  /** What can be told of so many characters of a text, cleaned: no half of a secret is left where it is cut. */
  beginning(text: string, most: number): string {
    const cleaned = cleanText(text.slice(0, most));
    return text.length <= most ? this.redact(cleaned) : this.divide(cleaned).told;
  }

  holdsSecret(bytes: Buffer): boolean {
    const text = bytes.toString('latin1');
    return this.#secrets.some((secret) =>
      secret.length < LONG_SECRET
        ? bytes.includes(secret)
        : this.#piecesWithout(text, Buffer.from(secret).toString('latin1')).length > 1,
    );
  }

  /** What is before, between and behind each place where the secret is. */
  #piecesWithout(text: string, secret: string): string[] {
    const by = { secret, repeats: this.#repeatsOf(secret) };
    const pieces: string[] = [];
    let from = 0;
    for (let index = 0, count = 0; index < text.length; index++) {
      count = longer(count, text[index], by);
      if (count < secret.length) continue;
      pieces.push(text.slice(from, index + 1 - count));
      from = index + 1;
      count = 0;
    }
    return [...pieces, text.slice(from)];
  }

  #repeatsOf(secret: string): Uint32Array {
    const known = this.#repeats.get(secret) ?? repeatsOf(secret);
    this.#repeats.set(secret, known);
    return known;
  }
}

/** For each position in a secret: how many characters up to it repeat its beginning (the table of Knuth, Morris and Pratt). */
function repeatsOf(secret: string): Uint32Array {
  const repeats = new Uint32Array(secret.length);
  for (let index = 1, count = 0; index < secret.length; index++) {
    count = longer(count, secret[index], { secret, repeats });
    repeats[index] = count;
  }
  return repeats;
}

/** How many characters at the end of a text are the beginning of a secret, in linear time: agents may know the secret. */
function begunIn(text: string, secret: string, repeats: Uint32Array): number {
  let count = 0;
  for (let index = Math.max(0, text.length - secret.length + 1); index < text.length; index++)
    count = longer(count, text[index], { secret, repeats });
  return count;
}

function longer(count: number, next: string | undefined, by: { secret: string; repeats: Uint32Array }): number {
  let begun = count;
  while (begun > 0 && by.secret[begun] !== next) begun = by.repeats[begun - 1] ?? 0;
  return by.secret[begun] === next ? begun + 1 : begun;
}
