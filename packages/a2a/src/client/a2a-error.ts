// The error of the A2A client: why a request to an agent failed, and whether the agent may have started to work.
import { FetchError } from '@pocket-agent/http/fetch';
import { CodedError } from '@pocket-agent/kit';

/** Why a request to an agent failed. */
export type A2aErrorCode =
  /** The guard of our `fetch` refused the address. */
  | 'ADDRESS_REFUSED'
  /** No connection, or it was closed too early. */
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'TOO_LARGE'
  | 'RATE_LIMITED'
  /** The agent refused the kind or the size of the input. */
  | 'INPUT_INVALID'
  /** The token server refused to issue a token. */
  | 'AUTH_FAILED'
  | 'TASK_UNKNOWN'
  /** The agent does not follow the specification. */
  | 'PROTOCOL'
  /** The agent reported an error. */
  | 'AGENT_ERROR';

/** What a caller can use to decide whether and when to try again. */
export interface A2aErrorDetails {
  cause?: unknown;
  statusCode?: number | undefined;
  retryAfterMs?: number | undefined;
  /** The number of an A2A or JSON-RPC error. */
  rpcCode?: number | undefined;
  /** The agent has certainly not started to work, so the request may be sent again. */
  isNotStarted?: boolean | undefined;
}

/** Its message is a sentence about the agent ("it …") and holds no URL and no secret. Subclasses may have more codes. */
export class A2aError<Code extends string = A2aErrorCode> extends CodedError<Code> {
  override readonly name: string = 'A2aError';
  readonly statusCode: number | undefined;
  readonly retryAfterMs: number | undefined;
  readonly rpcCode: number | undefined;
  readonly isNotStarted: boolean;

  constructor(code: Code, message: string, details: A2aErrorDetails = {}) {
    super(code, message, details);
    this.statusCode = details.statusCode;
    this.retryAfterMs = details.retryAfterMs;
    this.rpcCode = details.rpcCode;
    this.isNotStarted = details.isNotStarted ?? false;
  }
}

const notConnected = /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/;
const untrustedCertificate = /^(?:CERT_\w+|ERR_TLS_\w+|\w*SELF_SIGNED\w*|UNABLE_TO_\w+)$/;
const unreadableBody = /^(?:Z_|HPE_|ERR_BROTLI|ERR__)/;

/** Explains errors of `fetch` and of reading a body. Other errors, such as the reason of an abort, stay as they are. */
export function explainFetchError(error: unknown): unknown {
  if (error instanceof FetchError) return refusedByFetch(error);
  if (!(error instanceof TypeError)) return error;
  const { cause } = error;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  if (unreadableBody.test(code))
    return new A2aError('PROTOCOL', `its response cannot be read (${code}).`, { cause: error });
  if (untrustedCertificate.test(code))
    return new A2aError('UNREACHABLE', `its certificate is not trusted (${code}).`, { cause: error });
  if (notConnected.test(code))
    return new A2aError('UNREACHABLE', `it cannot be reached (${code}). Try again later, or another agent.`, {
      cause: error,
      isNotStarted: true,
    });
  return new A2aError('UNREACHABLE', `the connection was closed (${code || 'no reason given'}).`, { cause: error });
}

function refusedByFetch(error: FetchError): A2aError {
  const details = { cause: error };
  switch (error.code) {
    case 'PRIVATE_ADDRESS':
      return new A2aError('ADDRESS_REFUSED', 'its address is private.', details);
    case 'SCHEME':
      return new A2aError('ADDRESS_REFUSED', 'its address is neither http nor https.', details);
    case 'REDIRECT':
      return new A2aError('ADDRESS_REFUSED', 'it redirects, and redirects are not followed.', details);
    case 'TOO_LARGE':
      return new A2aError('TOO_LARGE', 'its response is too large. Ask for less.', details);
    case 'TIMEOUT':
      return new A2aError('TIMEOUT', 'it did not send a complete response in time.', details);
  }
}
