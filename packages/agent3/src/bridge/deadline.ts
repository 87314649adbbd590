// The time limit of one call, combined with the abort signal of its caller.
import { abortable } from '@pocket-agent/kit';
import { CallFailure } from '../base/call-failure.ts';

/** For calls without a timeout. */
export const DEFAULT_TIMEOUT_MS = 30_000;

interface DeadlineOptions {
  timeoutMs: number;
  /** Of the caller. */
  signal?: AbortSignal;
  /** Aborted when the bridge is closed. */
  closing: AbortSignal;
}

export class Deadline {
  readonly timeoutMs: number;
  readonly #controller = new AbortController();
  readonly #end: number;
  readonly #releases: (() => void)[] = [];

  constructor({ timeoutMs, signal, closing }: DeadlineOptions) {
    this.timeoutMs = timeoutMs;
    this.#end = performance.now() + timeoutMs;
    const expire = () => this.#abort(new CallFailure('TIMEOUT', `there was no answer within ${timeoutMs} ms.`));
    const timer = setTimeout(expire, timeoutMs);
    this.#releases.push(() => clearTimeout(timer));
    this.#listen(signal, 'the call was canceled.');
    this.#listen(closing, 'the bridge was closed.');
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get remainingMs(): number {
    return this.#end - performance.now();
  }

  /** The value, or a rejection as soon as the deadline passes. */
  race<Value>(value: PromiseLike<Value> | Value): Promise<Value> {
    return abortable(Promise.resolve(value), this.signal);
  }

  /** Ends early when `wake` resolves. */
  async sleep(ms: number, wake?: Promise<void>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const slept = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, ms);
    });
    try {
      await this.race(wake ? Promise.race([slept, wake]) : slept);
    } finally {
      clearTimeout(timer);
    }
  }

  release(): void {
    for (const release of this.#releases.splice(0)) release();
  }

  #listen(signal: AbortSignal | undefined, message: string): void {
    if (!signal) return;
    const abort = () => this.#abort(new CallFailure('CANCELED', message));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    this.#releases.push(() => signal.removeEventListener('abort', abort));
  }

  #abort(failure: CallFailure): void {
    this.#controller.abort(failure);
    this.release();
  }
}
