// SIGINT, SIGTERM, or a parent that is gone: the first lets the process end in order.

/** npm passes on what the terminal has told every process already. */
const SAME_SIGNAL_MS = 250;
const PARENT_MS = 1_000;

/** Aborted at the first of them; `again` is for whoever does not want to wait. */
export function stopSignal(again: () => void): AbortSignal {
  const controller = new AbortController();
  let since = 0;
  const stop = () => {
    if (!controller.signal.aborted) {
      since = Date.now();
      controller.abort();
    } else if (Date.now() - since > SAME_SIGNAL_MS) again();
  };
  process.on('SIGINT', stop).on('SIGTERM', stop).once('disconnect', stop);
  if (process.env.npm_lifecycle_event !== undefined) watchParent(controller.signal, stop);
  return controller.signal;
}

/** A SIGTERM for `npm run` ends npm and its shell, and leaves what they have started. */
function watchParent(over: AbortSignal, gone: () => void): void {
  const parent = process.ppid;
  const looking = setInterval(() => process.ppid === parent || gone(), PARENT_MS).unref();
  over.addEventListener('abort', () => clearInterval(looking), { once: true });
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
