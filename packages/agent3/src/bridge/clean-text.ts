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
const SHORTEST_SECRET = 4;

/** Takes the secrets that were sent out of whatever comes back: an agent may echo them. */
export class Redactor {
  #secrets: string[] = [];

  add(secrets: readonly string[]): void {
    const forms = secrets.flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      Buffer.from(secret).toString('base64'),
    ]);
    const all = new Set([...this.#secrets, ...forms.filter(({ length }) => length >= SHORTEST_SECRET)]);
    this.#secrets = [...all].sort((one, other) => other.length - one.length);
  }

  redact(text: string): string {
    return this.#secrets.reduce((rest, secret) => rest.replaceAll(secret, REMOVED), text);
  }

  /** Of a text that goes on: what can be told of it, and its end if that may be the beginning of a secret. */
  divide(text: string): { told: string; held: string } {
    const redacted = this.redact(text);
    const end = redacted.length - Math.max(0, ...this.#secrets.map((secret) => begunIn(redacted, secret)));
    return { told: redacted.slice(0, end), held: redacted.slice(end) };
  }

  /** What can be told of so many characters of a text, cleaned: no half of a secret is left where it is cut. */
  beginning(text: string, most: number): string {
    const cleaned = cleanText(text.slice(0, most));
    return text.length <= most ? this.redact(cleaned) : this.divide(cleaned).told;
  }

  holdsSecret(bytes: Buffer): boolean {
    return this.#secrets.some((secret) => bytes.includes(secret));
  }
}

/** How many characters at the end of a text are the beginning of a secret. */
function begunIn(text: string, secret: string): number {
  for (let length = Math.min(text.length, secret.length - 1); length > 0; length--)
    if (text.endsWith(secret.slice(0, length))) return length;
  return 0;
}
