// Which failed requests may be retried, and after how long.
import { backoffMs } from '@pocket-agent/kit';

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

const MAX_BACKOFF_MS = 10_000;

export function backoff(attempt: number, firstMs: number): number {
  return backoffMs(attempt, { firstMs, maxMs: MAX_BACKOFF_MS });
}
