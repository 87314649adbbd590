// An abort signal for SIGINT, SIGTERM, and the end of the parent process.
import { onAbort } from '@pocket-agent/kit';

/** npm repeats a signal that the terminal has sent to every process. */
const SAME_SIGNAL_MS = 250;
const PARENT_CHECK_MS = 1_000;

/** Aborts at the first signal; calls `onSecond` for a later one. */
export function stopSignal(onSecond: () => void): AbortSignal {
  const controller = new AbortController();
  let stoppedAt = 0;
  const stop = () => {
    if (!controller.signal.aborted) {
      stoppedAt = Date.now();
      controller.abort();
    } else if (Date.now() - stoppedAt > SAME_SIGNAL_MS) onSecond();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).once('disconnect', stop);
  if (process.env.npm_lifecycle_event !== undefined) watchParent(controller.signal, stop);
  return controller.signal;
}

/** SIGTERM to `npm run` ends npm and its shell but not the program they started. */
function watchParent(stopped: AbortSignal, onGone: () => void): void {
  const parent = process.ppid;
  const timer = setInterval(() => process.ppid === parent || onGone(), PARENT_CHECK_MS).unref();
  onAbort(stopped, () => clearInterval(timer));
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => void onAbort(signal, () => resolve()));
}
