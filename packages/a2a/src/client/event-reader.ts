// Reads server-sent events from the body of a response.
import { setImmediate } from 'node:timers/promises';
import { A2aError } from './a2a-error.ts';

export interface ServerEvent {
  type: string;
  data: string;
}

/** Characters of one event, field names and line breaks included. */
const MAX_EVENT_LENGTH = 16_777_216;
/** How long to wait for the end of the body after the last event, so that the connection can be reused. */
const END_MS = 200;
/** The longest time that the events of a fast agent may block the event loop. */
const MAX_BUSY_MS = 10;

export async function* readEvents(body: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let busySince = performance.now();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return; // an event without its empty line was cut off
      for (const event of parser.add(decoder.decode(value, { stream: true }))) {
        yield event;
        if (performance.now() - busySince < MAX_BUSY_MS) continue;
        await setImmediate();
        busySince = performance.now();
      }
    }
  } finally {
    void drain(reader);
  }
}

class EventParser {
  /** The beginning of a line. A carriage return at its end may be half a line break. */
  #rest = '';
  #isReturnHeld = false;
  #type = 'message';
  #data: string[] = [];
  #length = 0;

  *add(text: string): Generator<ServerEvent> {
    const chunk = this.#isReturnHeld ? `\r${text}` : text;
    this.#isReturnHeld = chunk.endsWith('\r');
    const [first = '', ...others] = (this.#isReturnHeld ? chunk.slice(0, -1) : chunk).split(/\r\n|\n|\r/);
    const lines = [this.#rest + first, ...others];
    this.#rest = lines.pop() ?? '';
    for (const line of lines) {
      const event = line === '' ? this.#finish() : this.#read(line);
      if (event) yield event;
    }
    if (this.#length + this.#rest.length > MAX_EVENT_LENGTH) throw tooLong();
  }

  #read(line: string): undefined {
    this.#length += line.length + 1;
    if (this.#length > MAX_EVENT_LENGTH) throw tooLong();
    const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
    if (field === 'data') this.#data.push(value);
    if (field === 'event') this.#type = value;
  }

  #finish(): ServerEvent | undefined {
    const event = { type: this.#type, data: this.#data.join('\n') };
    const hasData = this.#data.length > 0;
    this.#type = 'message';
    this.#data = [];
    this.#length = 0;
    return hasData ? event : undefined;
  }
}

function tooLong(): A2aError {
  return new A2aError('TOO_LARGE', 'an event of its stream is too large.');
}

async function drain(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  const timer = setTimeout(() => void reader.cancel().catch(() => {}), END_MS).unref();
  try {
    while (!(await reader.read()).done);
  } catch {
    // the connection was closed
  } finally {
    clearTimeout(timer);
  }
}
