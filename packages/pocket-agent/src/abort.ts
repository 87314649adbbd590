// Waiting that ends when it must: signals joined without leaving listeners behind, and time limits.
import { PocketError } from './errors.ts';

export interface Deadline {
  signal: AbortSignal;
  /** Takes the timer and the listeners away again. */
  release(): void;
}

/** One signal for a run: aborted by any of `signals` or after `timeoutMs`; its reason is always a PocketError. */
export function startDeadline(
  what: string,
  signals: readonly (AbortSignal | undefined)[],
  timeoutMs?: number,
): Deadline {
  const controller = new AbortController();
  const releases: (() => void)[] = [];
  for (const signal of signals) {
    if (!signal) continue;
    const abort = () => controller.abort(abortError(what, signal.reason));
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    releases.push(() => signal.removeEventListener('abort', abort));
  }
  if (timeoutMs !== undefined) {
    const expire = () => controller.abort(new PocketError('TIMEOUT', `${what} did not end within ${timeoutMs} ms.`));
    const timer = setTimeout(expire, timeoutMs);
    releases.push(() => clearTimeout(timer));
  }
  return { signal: controller.signal, release: () => releases.forEach((release) => void release()) };
}

function abortError(what: string, reason: unknown): PocketError {
  if (reason instanceof PocketError) return reason;
  return new PocketError('ABORTED', `${what} was aborted.`, { cause: reason });
}

/** The promise, or the signal's reason as soon as it is aborted, even if whoever made the promise ignores it. */
export async function abortable<Value>(promise: PromiseLike<Value>, signal: AbortSignal): Promise<Value> {
  signal.throwIfAborted();
  let stop = () => {};
  const aborted = new Promise<never>((_resolve, reject) => {
    stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
  });
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
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
