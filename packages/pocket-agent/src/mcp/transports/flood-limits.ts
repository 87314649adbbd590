// Limits for a server that sends more, or faster, than this process can handle.
import type { FetchLike } from '@modelcontextprotocol/client';
import { limitedResponse } from '@pocket-agent/http/fetch';
import { MAX_MESSAGE_BYTES } from './message-lines.ts';

const MAX_PENDING_ANSWERS = 250;
/** Servers may ask us to reconnect after any time, also 0. */
const MIN_RECONNECT_MS = 100;
const MAX_RECONNECT_MS = 60_000;

/** Our answers to requests of one server that it has not read yet. */
export class PendingAnswers {
  #count = 0;
  readonly #closeFor: (error: Error) => void;

  constructor(closeFor: (error: Error) => void) {
    this.#closeFor = closeFor;
  }

  async send(send: () => Promise<void>): Promise<void> {
    if (this.#count >= MAX_PENDING_ANSWERS) {
      this.#closeFor(new Error(`it sent requests without reading our answers to the last ${MAX_PENDING_ANSWERS}`));
      return;
    }
    this.#count++;
    try {
      await send();
    } finally {
      this.#count--;
    }
  }
}

/** Limits the reconnect delay; the SDK accepts any delay. */
export function scheduleReconnect(reconnect: () => void, delayMs: number): () => void {
  const boundedMs = Math.min(Math.max(delayMs, MIN_RECONNECT_MS), MAX_RECONNECT_MS);
  const timer = setTimeout(reconnect, boundedMs);
  return () => clearTimeout(timer);
}

/** A `fetch` whose responses have the size limit of every message of a server. */
export function limitedFetch(fetch: FetchLike, onTooLarge: (error: Error) => void = () => {}): FetchLike {
  return async (url, init) => limitedResponse(await fetch(url, init), { maxBytes: MAX_MESSAGE_BYTES, onTooLarge });
}
