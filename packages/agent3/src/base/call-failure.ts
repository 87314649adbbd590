// Why a call came to nothing: a code for programs, a text for people, and whether the agent can have begun with it.
import { FetchError } from '@pocket-agent/http/fetch';
import type { CallErrorCode } from './types.ts';

interface FailureDetails {
  cause?: unknown;
  statusCode?: number;
  retryAfterMs?: number;
  /** The number of an A2A or JSON-RPC error. */
  rpcCode?: number;
  /** The agent has surely not begun with it, so it may be sent again. */
  isUntouched?: boolean;
}

/** Its text never holds a URL or a secret; the name of the agent is put before it by whoever answers. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure';
  readonly code: CallErrorCode;
  readonly statusCode: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly rpcCode: number | undefined;
  readonly isUntouched: boolean;

  constructor(code: CallErrorCode, message: string, details: FailureDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.statusCode = details.statusCode;
    this.retryAfterMs = details.retryAfterMs;
    this.rpcCode = details.rpcCode;
    this.isUntouched = details.isUntouched ?? false;
  }
}

/** No connection was made, so nothing was sent. */
const neverConnected = /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/;
const untrustedPeer = /^(?:CERT_\w+|ERR_TLS_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+)$/;

export function toFailure(error: unknown): CallFailure {
  if (error instanceof CallFailure) return error;
  if (error instanceof FetchError) return refusedByUs(error);
  if (!(error instanceof TypeError))
    return new CallFailure('PROTOCOL', 'something unexpected happened.', { cause: error });
  const code = codeOf(error.cause);
  if (code.startsWith('Z_') || code.startsWith('HPE_') || code.startsWith('ERR_BROTLI') || code.startsWith('ERR__'))
    return new CallFailure('PROTOCOL', `what it answered cannot be read (${code}).`, { cause: error });
  if (untrustedPeer.test(code))
    return new CallFailure('UNREACHABLE', `its certificate is not trusted (${code}).`, { cause: error });
  if (neverConnected.test(code))
    return new CallFailure('UNREACHABLE', `it cannot be reached (${code}). Try again later, or another agent.`, {
      cause: error,
      isUntouched: true,
    });
  return new CallFailure('UNREACHABLE', `the connection broke off (${code || 'no reason given'}).`, { cause: error });
}

/** The agent may have moved, or wants another login; it has not begun with the message. */
export function suggestsStaleCard({ code, statusCode = 0, isUntouched }: CallFailure): boolean {
  if (code === 'UNREACHABLE') return isUntouched;
  if (code === 'AUTH_MISSING' || code === 'AUTH_FAILED') return statusCode === 401;
  return code === 'ADDRESS_REFUSED' || (code === 'PROTOCOL' && [404, 405, 410].includes(statusCode));
}

/** The message surely came to nothing: it was never sent, or the agent turned it away before any work. */
export function isRefusal({ code, statusCode = 0, rpcCode, isUntouched }: CallFailure): boolean {
  if (isUntouched || rpcCode !== undefined || code === 'ADDRESS_REFUSED') return true;
  return statusCode >= 400 && statusCode < 500;
}

function refusedByUs(error: FetchError): CallFailure {
  const details = { cause: error };
  switch (error.code) {
    case 'PRIVATE_ADDRESS':
      return new CallFailure(
        'ADDRESS_REFUSED',
        'its address is private. Name its host in AGENT3_ALLOW_HOSTS if it is yours.',
        details,
      );
    case 'SCHEME':
      return new CallFailure('ADDRESS_REFUSED', 'its address is neither http nor https.', details);
    case 'REDIRECT':
      return new CallFailure('ADDRESS_REFUSED', 'it redirects, which is not followed. Register its new card.', details);
    case 'TOO_LARGE':
      return new CallFailure('TOO_LARGE', 'it answered with more than may be read. Ask for less.', details);
    case 'TIMEOUT':
      return new CallFailure('TIMEOUT', 'there was no whole answer in time.', details);
  }
}

function codeOf(cause: unknown): string {
  return cause instanceof Error && 'code' in cause ? String(cause.code) : '';
}
