// Reads how long a server asks clients to wait.

/** Milliseconds from `retry-after-ms` or `retry-after` (seconds or a date). Header names must be in lower case. */
export function retryAfterHeader(headers: Record<string, string>): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  const value = headers['retry-after'];
  if (value === undefined) return undefined;
  const seconds = Number(value);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(wait) ? Math.max(0, wait) : undefined;
}
