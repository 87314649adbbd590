// SIGINT, SIGTERM, or a parent that is gone: the first lets the process end in order.

/** npm passes on what the terminal has told every process already. */
const SAME_SIGNAL_MS = 250;

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
  return controller.signal;
}

export function whenAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
