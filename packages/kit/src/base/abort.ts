// Abort signals, deadlines and the time limits of tool calls. None of them leaves listeners behind.
import { PocketError } from './errors.ts';
import { isWorker } from './lazy-node.ts';

/** The longest delay of `setTimeout`, which fires immediately after a longer one. */
export const MAX_TIMER_MS = 2 ** 31 - 1;

let never: AbortSignal | undefined;

/** The signal of work that cannot be aborted. Made at the first call: Workers make no signals while a module is loaded. */
export function neverAborted(): AbortSignal {
  if (isWorker()) return new AbortController().signal; // a signal that another request made cannot be used
  never ??= new AbortController().signal;
  return never;
}

export interface Deadline {
  signal: AbortSignal;
  /** Removes the time limit; the signals still count. */
  stopClock(): void;
  /** Removes the timer and the listeners. */
  release(): void;
}

export interface DeadlineOptions {
  /** The subject of error messages: "The run of Helper". */
  what: string;
  signals?: readonly (AbortSignal | undefined)[];
  /** Infinity means no limit. */
  timeoutMs?: number | undefined;
  /** Details for the error of a timeout. */
  details?(): Record<string, unknown>;
  /** Replaces the PocketError; `aborted` is the signal that was aborted, undefined after a timeout. */
  makeError?(aborted: AbortSignal | undefined): Error;
}

/** A signal that is aborted by any of `signals` or after `timeoutMs`, with a PocketError or the error of `makeError`. */
export function startDeadline(options: DeadlineOptions): Deadline {
  const {
    signals = [],
    timeoutMs = Number.POSITIVE_INFINITY,
    makeError = (aborted) => endError(options, aborted),
  } = options;
  const controller = new AbortController();
  const end = (aborted?: AbortSignal) => controller.abort(makeError(aborted));
  const timer = timeoutMs <= MAX_TIMER_MS ? setTimeout(() => end(), timeoutMs) : undefined;
  const releases = signals.map((signal) => signal && listen(signal, () => end(signal)));
  return {
    signal: controller.signal,
    stopClock: () => clearTimeout(timer),
    release: () => {
      clearTimeout(timer);
      for (const release of releases) release?.();
    },
  };
}

/** Calls `work` with the signal of a deadline that is released at its end. */
export async function withDeadline<Value>(
  options: DeadlineOptions,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const deadline = startDeadline(options);
  try {
    return await work(deadline.signal);
  } finally {
    deadline.release();
  }
}

/** Unlike `onAbort`, leaves no listener after its release: a caller may use the signal for a long time. */
function listen(signal: AbortSignal, listener: () => void): () => void {
  if (signal.aborted) listener();
  else if (signal !== never) signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}

function endError({ what, timeoutMs, details }: DeadlineOptions, aborted: AbortSignal | undefined): PocketError {
  if (!aborted)
    return new PocketError('TIMEOUT', `${what} did not end within ${timeoutMs} ms.`, { details: details?.() ?? {} });
  if (aborted.reason instanceof PocketError) return aborted.reason;
  return new PocketError('ABORTED', `${what} was aborted.`, { cause: aborted.reason });
}

/** Whether the promise is fulfilled within `ms`; rejects if it rejects in this time. */
export async function settlesWithin(ms: number, promise: Promise<unknown>): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  // setImmediate: after a busy moment of this process, an answer that has already arrived is read first
  const timer = setTimeout(() => setImmediate(late.resolve, false), Math.min(ms, MAX_TIMER_MS));
  try {
    return await Promise.race([promise.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

type AbortListener = (reason: unknown) => void;

/** The listeners of a signal. They share one event listener: adding and removing one for every wait is slow. */
const listenersOf = new WeakMap<AbortSignal, Set<AbortListener>>();

/** The promise, or the signal's reason as soon as it is aborted, even if the promise never settles. */
export function abortable<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      promise.then(undefined, () => {}); // its error no longer matters
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

/** Calls `listener` when the signal is aborted. Returns a function that removes the listener. */
export function onAbort(signal: AbortSignal, listener: AbortListener): () => void {
  if (signal.aborted) {
    listener(signal.reason);
    return () => {};
  }
  if (signal === never) return () => {};
  const listeners = listenersOf.get(signal) ?? listenTo(signal);
  const own: AbortListener = (reason) => listener(reason); // the same function may wait twice
  listeners.add(own);
  return () => void listeners.delete(own);
}

function listenTo(signal: AbortSignal): Set<AbortListener> {
  const listeners = new Set<AbortListener>();
  listenersOf.set(signal, listeners);
  const notify = () => listeners.forEach((listener) => void listener(signal.reason));
  signal.addEventListener('abort', notify, { once: true });
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

export interface CallClockOptions {
  /** The name of the tool, for error texts. */
  tool: string;
  /** Where the tool is: an MCP server or a tool folder. */
  server: string;
  signal: AbortSignal;
  /** The time limit without activity. */
  timeoutMs: number;
  /** The time limit in all, from `startedAt` on. */
  maxTimeoutMs: number;
  /** By `performance.now()`; default now. A repeated call has only the rest of its time. */
  startedAt?: number;
  /** While it returns true, the call does not count as silent. */
  isPaused?(): boolean;
}

/** The clock of one tool call: cancels it when it is idle for too long, or runs too long in all. */
export class CallClock {
  /** Whether the call is over. */
  isStopped = false;
  readonly #options: CallClockOptions;
  readonly #latest: number;
  readonly #controller = new AbortController();
  readonly #removeListener: () => void;
  #timer: NodeJS.Timeout | undefined;
  #lastActivity = performance.now();

  constructor(options: CallClockOptions) {
    this.#options = options;
    this.#latest = (options.startedAt ?? this.#lastActivity) + options.maxTimeoutMs;
    this.#removeListener = onAbort(options.signal, (reason) => this.#controller.abort(reason));
    this.#startTimer(this.#dueAt - this.#lastActivity);
  }

  /** Aborted when the call is cancelled or has timed out. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Restarts the time limit, because the tool was active. */
  extend(): void {
    this.#lastActivity = performance.now();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.#timer);
    this.#removeListener();
  }

  #startTimer(leftMs: number): void {
    this.#timer = setTimeout(() => this.#checkTime(), Math.min(Math.max(0, leftMs), MAX_TIMER_MS));
  }

  #checkTime(): void {
    const { tool, server, timeoutMs, maxTimeoutMs, isPaused } = this.#options;
    if (isPaused?.()) this.extend();
    const now = performance.now();
    if (now < this.#dueAt) {
      this.#startTimer(this.#dueAt - now);
      return;
    }
    const why = now < this.#latest ? `was idle for ${timeoutMs}` : `ran longer than ${maxTimeoutMs}`;
    const text = `Tool "${tool}" of "${server}" ${why} ms and was cancelled.`;
    this.#controller.abort(new PocketError('TOOL_TIMEOUT', text));
  }

  get #dueAt(): number {
    return Math.min(this.#lastActivity + this.#options.timeoutMs, this.#latest);
  }
}
