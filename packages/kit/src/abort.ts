// Waiting that ends when it must: signals joined without leaving listeners behind, and time limits.
import { PocketError } from './errors.ts';
import { Numbered } from './numbered.ts';

/** Node fires a timer at once that is set for longer; whoever asks for that wants none. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** For those that nobody wants to stop. */
export const neverAborted: AbortSignal = new AbortController().signal;

export interface Deadline {
  signal: AbortSignal;
  /** From now on only the other signals count. */
  stopClock(): void;
  /** Takes the timer and the listeners away again. */
  release(): void;
}

/** One signal for a run: aborted by any of `signals` or after `timeoutMs`; its reason is always a PocketError. */
export function startDeadline(
  what: string,
  signals: readonly (AbortSignal | undefined)[],
  timeoutMs?: number,
  /** More for the error of a timeout, looked up when it comes. */
  details: () => Record<string, unknown> = () => ({}),
): Deadline {
  const controller = new AbortController();
  const releases: (() => void)[] = [];
  for (const signal of signals) {
    if (!signal || signal === neverAborted) continue;
    const abort = () => controller.abort(abortError(what, signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    releases.push(() => signal.removeEventListener('abort', abort));
  }
  let timer: NodeJS.Timeout | undefined;
  if (timeoutMs !== undefined && timeoutMs <= LONGEST_TIMER_MS) {
    const expire = () =>
      controller.abort(
        new PocketError('TIMEOUT', `${what} did not end within ${timeoutMs} ms.`, { details: details() }),
      );
    timer = setTimeout(expire, timeoutMs);
    releases.push(() => clearTimeout(timer));
  }
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    release: () => releases.forEach((release) => void release()),
  };
}

function abortError(what: string, reason: unknown): PocketError {
  if (reason instanceof PocketError) return reason;
  return new PocketError('ABORTED', `${what} was aborted.`, { cause: reason });
}

/** Who waits for a signal. One listener serves them all: adding and removing one for every wait is slow. */
const waiting = new WeakMap<AbortSignal, Numbered<(reason: unknown) => void>>();

/** The promise, or the signal's reason as soon as it is aborted, even if whoever made the promise ignores it. */
export function abortable<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.then(undefined, () => {}); // whatever becomes of it, the abort is the answer
      reject(signal.reason);
      return;
    }
    const others = waitersOf(signal);
    const number = others.add(reject);
    promise.then(
      (value) => {
        others.take(number);
        resolve(value);
      },
      (error) => {
        others.take(number);
        reject(error);
      },
    );
  });
}

/** The promise; after an abort the signal's reason, if the promise does not settle within `graceMs`. */
export function abortableAfter<Value>(promise: Promise<Value>, signal: AbortSignal, graceMs: number): Promise<Value> {
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined;
    const release = onAbort(signal, (reason) => {
      timer = setTimeout(() => reject(reason), graceMs);
    });
    promise.then(resolve, reject).finally(() => {
      release();
      clearTimeout(timer);
    });
  });
}

/** Calls `listener` when the signal is aborted, until it is released. */
export function onAbort(signal: AbortSignal, listener: (reason: unknown) => void): () => void {
  if (signal.aborted) {
    listener(signal.reason);
    return () => {};
  }
  const others = waitersOf(signal);
  const number = others.add(listener);
  return () => void others.take(number);
}

/** For hooks, which may wait for somebody but not beyond the end of the run; one that is not async costs nothing. */
export function within<Value>(signal: AbortSignal, value: Value | Promise<Value>): Value | Promise<Value> {
  return value instanceof Promise ? abortable(value, signal) : value;
}

function waitersOf(signal: AbortSignal): Numbered<(reason: unknown) => void> {
  const known = waiting.get(signal);
  if (known) return known;
  const waiters = new Numbered<(reason: unknown) => void>();
  waiting.set(signal, waiters);
  signal.addEventListener('abort', () => waiters.list().forEach((reject) => void reject(signal.reason)), {
    once: true,
  });
  return waiters;
}

export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const done = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  try {
    await abortable(done, signal);
  } finally {
    clearTimeout(timer);
  }
}
