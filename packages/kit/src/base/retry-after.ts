// How long to wait before a retry: as the server asks, or with exponential backoff.

/** Milliseconds from `retry-after-ms` or `retry-after` (seconds or a date). Header names must be in lower case. */
export function retryAfterHeader(headers: Readonly<Record<string, string | undefined>>): number | undefined {
  const ms = Number.parseFloat(headers['retry-after-ms'] ?? '');
  if (ms >= 0) return ms;
  const value = headers['retry-after']?.trim() ?? '';
  if (/^-?\d{1,12}(\.\d+)?$/.test(value)) return Math.max(0, Number(value) * 1000);
  // an HTTP date contains the name of a month, an ISO date starts with the year; Date.parse accepts many other strings
  const date = /[a-z]{3}|^\d{4}-\d\d-\d\dT/i.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/**
 * Doubles with every attempt, of which the first is 0. Half of it is random, so that clients do not all retry at the same
 * moment.
 */
export function backoffMs(attempt: number, { firstMs, maxMs }: { firstMs: number; maxMs: number }): number {
  const full = Math.min(firstMs * 2 ** attempt, maxMs);
  return full * (0.5 + Math.random() / 2);
}
