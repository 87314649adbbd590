// What happens in the studio, line by line. Browsers open few connections to one host, so one tab follows the stream and
// passes its lines on to the others.
import type { Line } from '../src/wire/wire.ts';

/** `refused`: there is no token. `expired`: it is not that of the studio, which has a new one after each start. */
export type ConnectionState = 'connecting' | 'live' | 'reconnecting' | 'refused' | 'expired';

const NAME = 'studio-stream';
/** Waits between attempts to connect again. */
const RETRY_MS = [300, 1_000, 3_000];

export interface StreamOptions {
  /** Asks for the lines after a number. Undefined if the token is refused. */
  open(after: number): Promise<ReadableStream<Uint8Array> | undefined>;
  /** In order, each line once. */
  onLines(lines: Line[]): void;
  onState(state: 'live' | 'reconnecting'): void;
}

/** To the other tabs: lines, and the number before them; or whether the studio answers. */
type Passed = { after: number; lines: Line[] } | { isLive: boolean };

export class LineStream {
  readonly #options: StreamOptions;
  readonly #tabs = new BroadcastChannel(NAME);
  /** The number of the last line that the page has. */
  #after = 0;
  /** What other tabs have passed on is taken in order. */
  #taken: Promise<void> = Promise.resolve();

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** Ends only if the token is refused. */
  async follow(): Promise<void> {
    if (!('locks' in navigator)) return this.#lead(); // not on this machine, without TLS
    this.#tabs.onmessage = ({ data }: MessageEvent<Passed>) => this.#then(() => this.#take(data));
    this.#then(() => this.#catchUp());
    await navigator.locks.request(NAME, () => this.#lead());
  }

  #then(work: () => Promise<void>): void {
    this.#taken = this.#taken.then(work).catch(() => this.#options.onState('reconnecting'));
  }

  /** Follows the stream for all tabs. */
  async #lead(): Promise<void> {
    this.#tabs.onmessage = null;
    await this.#taken;
    for (let failures = 0; ; failures++) {
      try {
        const body = await this.#options.open(this.#after);
        if (!body) return;
        failures = 0;
        for await (const lines of readLines(body)) this.#passOn(lines);
      } catch {
        // the studio is away: tried again below, and the page says so
      }
      this.#options.onState('reconnecting');
      this.#tabs.postMessage({ isLive: false } satisfies Passed);
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failures, RETRY_MS.length - 1)]));
    }
  }

  #passOn(lines: Line[]): void {
    const after = this.#after;
    this.#add(lines);
    const isNew = lines.some(({ type }) => type === 'snapshot');
    if (isNew) this.#options.onState('live');
    this.#tabs.postMessage((isNew ? { isLive: true } : { after, lines }) satisfies Passed);
  }

  async #take(passed: Passed): Promise<void> {
    if ('isLive' in passed) return passed.isLive ? this.#catchUp() : this.#options.onState('reconnecting');
    if (passed.after > this.#after) await this.#catchUp();
    this.#add(passed.lines.filter(({ seq }) => seq > this.#after));
  }

  /** Reads what is there, and leaves the connection to others. */
  async #catchUp(): Promise<void> {
    const body = await this.#options.open(this.#after);
    if (!body) return;
    let last = Number.POSITIVE_INFINITY;
    for await (const lines of readLines(body)) {
      for (const line of lines) if (line.type === 'snapshot') last = line.last;
      this.#add(lines);
      if (this.#after >= last) break;
    }
    this.#options.onState('live');
  }

  #add(lines: Line[]): void {
    const last = lines.at(-1);
    if (!last) return;
    this.#after = last.seq;
    this.#options.onLines(lines);
  }
}

/** The messages of a stream of server-sent events, as many at once as have arrived. */
async function* readLines(body: ReadableStream<Uint8Array>): AsyncGenerator<Line[]> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) {
      const messages = (rest + decoder.decode(read.value, { stream: true })).split('\n\n');
      rest = messages.pop() ?? '';
      const lines = messages.filter((message) => message.startsWith('data: '));
      if (lines.length > 0) yield lines.map((message): Line => JSON.parse(message.slice('data: '.length)));
    }
  } finally {
    await reader.cancel();
  }
}
