// The time limit of one call, combined with the abort signal of its caller.
import { abortable, onAbort } from '@pocket-agent/kit';
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
  readonly #releases: (() => void)[];

  constructor({ timeoutMs, signal, closing }: DeadlineOptions) {
    this.timeoutMs = timeoutMs;
    this.#end = performance.now() + timeoutMs;
    const fail = (code: 'TIMEOUT' | 'CANCELED', message: string) =>
      this.#controller.abort(new CallFailure(code, message));
    const timer = setTimeout(() => fail('TIMEOUT', `there was no answer within ${timeoutMs} ms.`), timeoutMs);
    this.#releases = [
      () => clearTimeout(timer),
      ...(signal ? [onAbort(signal, () => fail('CANCELED', 'the call was canceled.'))] : []),
      onAbort(closing, () => fail('CANCELED', 'the bridge was closed.')),
    ];
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
    const elapsed = Promise.withResolvers<void>();
    const timer = setTimeout(elapsed.resolve, ms);
    try {
      await this.race(wake ? Promise.race([elapsed.promise, wake]) : elapsed.promise);
    } finally {
      clearTimeout(timer);
    }
  }

  release(): void {
    for (const release of this.#releases) release();
  }
}
