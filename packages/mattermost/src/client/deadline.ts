// Deadlines and delays that end when the caller aborts, with errors of this package.
import { type Deadline, delay as delayOrAbort, startDeadline } from '@pocket-agent/kit';
import { MattermostError } from '../base/errors.ts';

interface DeadlineOptions {
  caller: AbortSignal;
  timeoutMs: number;
  /** What is being done, for the error message. */
  what: string;
}

export function startRequestDeadline({ caller, timeoutMs, what }: DeadlineOptions): Deadline {
  const text = `Mattermost took longer than ${timeoutMs / 1000} s (${what}); try again later.`;
  return startDeadline({
    what,
    signals: [caller],
    timeoutMs,
    makeError: (aborted) => (aborted ? abortedError(what, aborted.reason) : new MattermostError('TIMEOUT', text)),
  });
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
