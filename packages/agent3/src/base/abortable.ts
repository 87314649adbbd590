// Waiting that ends with a signal, whatever becomes of what was waited for.

/** The value, or the reason of the signal as soon as it is aborted. */
export async function abortable<Value>(value: PromiseLike<Value> | Value, signal: AbortSignal): Promise<Value> {
  const ended = Promise.withResolvers<never>();
  const end = () => ended.reject(signal.reason);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([ended.promise, value]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
