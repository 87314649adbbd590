// The time limit of one call, combined with the abort signal of its caller.
import { abortable, type Deadline as KitDeadline, startDeadline } from '@pocket-agent/kit';
import { CallFailure } from '../base/call-failure.ts';

/** The timeout of calls that name none. */
export const DEFAULT_TIMEOUT_MS = 30_000;

interface DeadlineOptions {
  timeoutMs: number;
  /** The signal of the caller. */
  signal?: AbortSignal;
  /** Aborted when the bridge is closed. */
  closing: AbortSignal;
}

export class Deadline {
  readonly timeoutMs: number;
  readonly #deadline: KitDeadline;
  readonly #end: number;

  constructor({ timeoutMs, signal, closing }: DeadlineOptions) {
    this.timeoutMs = timeoutMs;
    this.#end = performance.now() + timeoutMs;
    this.#deadline = startDeadline({
      what: 'The call',
      signals: [signal, closing],
      timeoutMs,
      makeError: (aborted) => {
        if (!aborted) return new CallFailure('TIMEOUT', `there was no answer within ${timeoutMs} ms.`);
        return new CallFailure('CANCELED', aborted === closing ? 'the bridge was closed.' : 'the call was canceled.');
      },
    });
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
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
    this.#deadline.release();
  }
}
