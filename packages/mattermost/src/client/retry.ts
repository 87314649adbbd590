// Which failed request may be sent again, and after how long.

/** `read` changes nothing; `idempotent` comes to the same when sent twice; `once` must not be sent twice. */
export type Safety = 'read' | 'idempotent' | 'once';

const BUSY = [502, 503, 504];
/** The connection was never made, so nothing can have arrived. */
const NEVER_ARRIVED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH'];
const BROKEN = [...NEVER_ARRIVED, 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED', 'UND_ERR_SOCKET'];

export function mayRepeatStatus(status: number, safety: Safety): boolean {
  // a rate limit refuses before anything is done
  if (status === 429) return true;
  return (safety !== 'once' && BUSY.includes(status)) || (safety === 'read' && status === 500);
}

export function mayRepeatFault(error: unknown, safety: Safety | 'deduplicated'): boolean {
  const code = faultCode(error);
  const anyFault = safety === 'read' || safety === 'deduplicated';
  return code !== undefined && (anyFault ? BROKEN : NEVER_ARRIVED).includes(code);
}

/** True for any fault of the network, whether or not it may be repeated; not for a mistake of the program. */
export function isNetworkFault(error: unknown): boolean {
  return faultCode(error) !== undefined;
}

export function isCertificateFault(error: unknown): boolean {
  return /CERT|SIGNATURE|ISSUER/.test(faultCode(error) ?? '');
}

export function neverArrived(error: unknown): boolean {
  return NEVER_ARRIVED.includes(faultCode(error) ?? '');
}

function faultCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^ERR_(INVALID|HTTP|STREAM|OUT)/.test(error.code) ? undefined : error.code;
}

/** Seconds or a date, as a wait from now; undefined when there is none to read. */
export function readRetryAfter(header: string | undefined, now = Date.now()): number | undefined {
  if (header === undefined) return undefined;
  if (/^\d+$/.test(header.trim())) return Number(header) * 1000;
  // a date has the name of a month; Date.parse would take much else for one
  const date = /[a-z]{3}/i.test(header) ? Date.parse(header) : Number.NaN;
  return Number.isNaN(date) ? undefined : Math.max(0, date - now);
}

const LONGEST_BACKOFF_MS = 10_000;

/** Doubles with every attempt; the upper half of it is chance, so that many who wait do not come back together. */
export function backoff(attempt: number, firstMs: number): number {
  const full = Math.min(firstMs * 2 ** attempt, LONGEST_BACKOFF_MS);
  return full / 2 + (Math.random() * full) / 2;
}
