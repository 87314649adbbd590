// Which failed requests may be retried, and after how long.

/** `read` changes nothing; `idempotent` has the same effect when sent twice; `once` must not be sent twice. */
export type RetrySafety = 'read' | 'idempotent' | 'once';

const BUSY = [502, 503, 504];
/** The connection was never established, so the request was not sent. */
const NEVER_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
const BROKEN = [...NEVER_SENT, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'UND_ERR_SOCKET'];

export function canRetryStatus(status: number, safety: RetrySafety): boolean {
  // a rate-limited request was not executed
  if (status === 429) return true;
  return (safety !== 'once' && BUSY.includes(status)) || (safety === 'read' && status === 500);
}

export function canRetryFault(error: unknown, safety: RetrySafety | 'deduplicated'): boolean {
  const code = networkErrorCode(error);
  const anyError = safety === 'read' || safety === 'deduplicated';
  return code !== undefined && (anyError ? BROKEN : NEVER_SENT).includes(code);
}

/** True for every network error, whether or not it may be retried; false for programming errors. */
export function isNetworkError(error: unknown): boolean {
  return networkErrorCode(error) !== undefined;
}

export function isCertificateError(error: unknown): boolean {
  return /CERT|SIGNATURE|ISSUER/.test(networkErrorCode(error) ?? '');
}

export function wasNeverSent(error: unknown): boolean {
  return NEVER_SENT.includes(networkErrorCode(error) ?? '');
}

function networkErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^ERR_(INVALID|HTTP|STREAM|OUT)/.test(error.code) ? undefined : error.code;
}

/** Parses Retry-After, in seconds or as a date, to milliseconds from now. */
export function readRetryAfter(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  // HTTP dates contain the name of a month; Date.parse accepts many other strings
  const date = /[a-z]{3}/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const MAX_BACKOFF_MS = 10_000;

/** Exponential backoff. Half of the delay is random, so that clients do not all retry at the same moment. */
export function backoff(attempt: number, firstMs: number): number {
  const full = Math.min(firstMs * 2 ** attempt, MAX_BACKOFF_MS);
  return full / 2 + (Math.random() * full) / 2;
}
