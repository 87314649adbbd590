// Deadlines and delays that end when the caller aborts.
import { MattermostError } from '../base/errors.ts';

export interface Deadline {
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
  const giveUp = () => controller.abort(abortedError(what, caller));
  if (caller.aborted) giveUp();
  caller.addEventListener('abort', giveUp, { once: true });
  const timer = setTimeout(() => {
    controller.abort(
      new MattermostError('TIMEOUT', `Mattermost took longer than ${timeoutMs / 1000} s (${what}); try again later.`),
    );
  }, timeoutMs);
  return {
    signal: controller.signal,
    release() {
      clearTimeout(timer);
      caller.removeEventListener('abort', giveUp);
    },
  };
}

/** Rejects as soon as the caller aborts. */
export function delay(ms: number, caller: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const giveUp = () => {
      clearTimeout(timer);
      reject(abortedError('waiting to repeat a request', caller));
    };
    const timer = setTimeout(() => {
      caller.removeEventListener('abort', giveUp);
      resolve();
    }, ms);
    if (caller.aborted) giveUp();
    else caller.addEventListener('abort', giveUp, { once: true });
  });
}

function abortedError(what: string, { reason }: AbortSignal): MattermostError {
  return new MattermostError('ABORTED', `The call was cancelled (${what}).`, { cause: reason });
}
