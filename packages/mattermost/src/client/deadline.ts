// Deadlines and delays that end when the caller aborts, with errors of this package.
import { delay as delayOrAbort, onAbort } from '@pocket-agent/kit';
import { MattermostError } from '../base/errors.ts';

interface Deadline {
  signal: AbortSignal;
  release(): void;
}

interface DeadlineOptions {
  caller: AbortSignal;
  timeoutMs: number;
  /** What is being done, for the error message. */
  what: string;
}

export function startDeadline({ caller, timeoutMs, what }: DeadlineOptions): Deadline {
  const controller = new AbortController();
  const removeListener = onAbort(caller, (reason) => controller.abort(abortedError(what, reason)));
  const timer = setTimeout(() => {
    const text = `Mattermost took longer than ${timeoutMs / 1000} s (${what}); try again later.`;
    controller.abort(new MattermostError('TIMEOUT', text));
  }, timeoutMs);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      removeListener();
    },
  };
}

/** Rejects as soon as the caller aborts. */
export async function delay(ms: number, caller: AbortSignal): Promise<void> {
  try {
    await delayOrAbort(ms, caller);
  } catch (error) {
    throw abortedError('waiting to retry a request', error);
  }
}

function abortedError(what: string, cause: unknown): MattermostError {
  return new MattermostError('ABORTED', `The call was cancelled (${what}).`, { cause });
}
