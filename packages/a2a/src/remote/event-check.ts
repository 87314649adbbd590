// Server-sent events on their way to the SDK, which logs what it cannot parse: every event must be JSON.
import { PocketError } from '@pocket-agent/kit';

/** The SDK takes no longer lines. */
const MOST_EVENT_CHARACTERS = 4_194_304;

export class EventCheck {
  readonly #host: string;
  readonly #decoder = new TextDecoder();
  /** Pieces of the line that is not complete yet: a line may arrive byte by byte. */
  #pieces: string[] = [];
  #endsInReturn = false;
  #type = '';
  #data: string[] = [];
  #pieceSize = 0;
  /** Counts line breaks too, so that empty lines are bounded. */
  #dataSize = 0;

  constructor(host: string) {
    this.#host = host;
  }

  /** The events that are complete, each with one line of data. Throws for one that is not JSON. */
  take(chunk: Uint8Array): string {
    const text = this.#decoder.decode(chunk, { stream: true });
    if (text === '') return '';
    this.#pieces.push(text);
    this.#pieceSize += text.length;
    const isLineComplete = this.#endsInReturn || /[\r\n]/.test(text);
    this.#endsInReturn = text.endsWith('\r');
    const events = isLineComplete ? this.#readLines() : '';
    // the stream ends here, and the task is read as a whole
    if (this.#pieceSize + this.#dataSize > MOST_EVENT_CHARACTERS)
      throw new TypeError(`An event of ${this.#host} is too long.`);
    return events;
  }

  #readLines(): string {
    // the last line may go on, and a carriage return may be half a line break
    const lines = this.#pieces.join('').split(/\r\n|\n|\r(?!$)/);
    const rest = lines.pop() ?? '';
    this.#pieces = [rest];
    this.#pieceSize = rest.length;
    return lines.map((line) => this.#read(line)).join('');
  }

  #read(line: string): string {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') {
      this.#data.push(value);
      this.#dataSize += value.length + 1;
    }
    if (field === 'event') this.#type = value;
    return '';
  }

  #dispatch(): string {
    const [type, data] = [this.#type, this.#data.join('\n')];
    this.#type = '';
    this.#data = [];
    this.#dataSize = 0;
    if (data === '') return '';
    this.#check(data);
    return `${type && `event: ${type}\n`}data: ${data.replaceAll('\n', ' ')}\n\n`;
  }

  #check(data: string): void {
    try {
      JSON.parse(data);
    } catch (cause) {
      const text = `${this.#host} broke the A2A protocol: an event of its stream is not JSON.`;
      throw new PocketError('TOOL_FAILED', text, { cause });
    }
  }
}
