// One limit of time over everything a call does, with the abort of whoever called.
import { abortable } from '../../base/abortable.ts';
import { CallFailure } from '../../base/call-failure.ts';

/** Of a call that gives no timeout. */
export const DEFAULT_TIMEOUT_MS = 30_000;

interface DeadlineOptions {
  timeoutMs: number;
  /** Of the caller. */
  signal?: AbortSignal;
  /** Of the bridge, when it is closed. */
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
    const late = () => this.#abort(new CallFailure('TIMEOUT', `there was no answer within ${timeoutMs} ms.`));
    const timer = setTimeout(late, timeoutMs);
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

  /** The value, or a failure as soon as the time is over. */
  race<Value>(value: PromiseLike<Value> | Value): Promise<Value> {
    return abortable(value, this.signal);
  }

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
