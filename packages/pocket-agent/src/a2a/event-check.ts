// Server-sent events on their way to the SDK, which logs what it cannot parse: every event must be JSON.
import { PocketError } from '../errors.ts';

/** The SDK takes no longer lines. */
const MOST_EVENT_CHARACTERS = 4_194_304;

export class EventCheck {
  readonly #host: string;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #type = '';
  #data: string[] = [];

  constructor(host: string) {
    this.#host = host;
  }

  /** The events that are complete, each with one line of data. Throws for one that is not JSON. */
  take(chunk: Uint8Array): string {
    const text = this.#rest + this.#decoder.decode(chunk, { stream: true });
    // the last line may go on, and a carriage return may be half a line break
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? '';
    const events = lines.map((line) => this.#read(line)).join('');
    const size = this.#data.reduce((sum, { length }) => sum + length, this.#rest.length);
    // the stream ends here, and the task is read as a whole
    if (size > MOST_EVENT_CHARACTERS) throw new TypeError(`An event of ${this.#host} is too long.`);
    return events;
  }

  #read(line: string): string {
    if (line === '') return this.#dispatch();
    const colon = line.indexOf(':');
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(line[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (field === 'data') this.#data.push(value);
    if (field === 'event') this.#type = value;
    return '';
  }

  #dispatch(): string {
    const [type, data] = [this.#type, this.#data.join('\n')];
    this.#type = '';
    this.#data = [];
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
