// Abort signals and deadlines: waiting that can be aborted, and leaves no listeners behind.
import { PocketError } from './errors.ts';

/** A timer that is set for longer fires at once. A longer time limit means none. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

/** For work that nobody wants to abort. */
export const neverAborted: AbortSignal = new AbortController().signal;

export interface Deadline {
  signal: AbortSignal;
  /** Removes the time limit; the signals still count. */
  stopClock(): void;
  /** Removes the timer and the listeners. */
  release(): void;
}

/** One signal for a run: aborted by any of `signals` or after `timeoutMs`; its reason is always a PocketError. */
export function startDeadline(
  what: string,
  signals: readonly (AbortSignal | undefined)[],
  timeoutMs?: number,
  /** Details for the error of a timeout. */
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
  if (timeoutMs !== undefined && timeoutMs <= MAX_TIMER_MS) {
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

type AbortListener = (reason: unknown) => void;

/** The listeners of a signal. They share one event listener: adding and removing one for every wait is slow. */
const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>();

/** The promise, or the signal's reason as soon as it is aborted, even if the promise never settles. */
export function abortable<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.then(undefined, () => {}); // its error does not matter any more
      reject(signal.reason);
      return;
    }
    const release = onAbort(signal, reject);
    promise.then(
      (value) => {
        release();
        resolve(value);
      },
      (error) => {
        release();
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

/** Calls `listener` when the signal is aborted, unless it is released before. */
export function onAbort(signal: AbortSignal, listener: AbortListener): () => void {
  if (signal.aborted) {
    listener(signal.reason);
    return () => {};
  }
  if (signal === neverAborted) return () => {};
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  const own: AbortListener = (reason) => listener(reason); // the same function may wait twice
  listeners.add(own);
  return () => void listeners.delete(own);
}

function listenTo(signal: AbortSignal): Set<AbortListener> {
  const listeners = new Set<AbortListener>();
  listenersOf.set(signal, listeners);
  const tellAll = () => [...listeners].forEach((listener) => void listener(signal.reason));
  signal.addEventListener('abort', tellAll, { once: true });
  return listeners;
}

/** Waits for a promise until the signal is aborted. Other values are returned as they are. */
export function within<Value>(signal: AbortSignal, value: Value | Promise<Value>): Value | Promise<Value> {
  return value instanceof Promise ? abortable(value, signal) : value;
}

export async function delay(ms: number, signal: AbortSignal): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const done = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS));
  });
  try {
    await abortable(done, signal);
  } finally {
    clearTimeout(timer);
  }
}
