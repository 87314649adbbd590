// Why a call failed: a code for programs, a text for people, and whether the agent may have started to work.
import { A2aError, explainFetchError } from '@pocket-agent/a2a/client';
import { FetchError } from '@pocket-agent/http/fetch';
import type { CallErrorCode } from './calls.ts';

/** The response puts the name of the agent before its text. */
export class CallFailure extends A2aError<CallErrorCode> {
  override readonly name = 'CallFailure';
}

export function toFailure(error: unknown): CallFailure {
  if (error instanceof CallFailure) return error;
  const explained = explainFetchError(error);
  if (explained instanceof A2aError)
    return new CallFailure(explained.code, `${explained.message}${adviceFor(explained)}`, explained);
  return new CallFailure('PROTOCOL', 'something unexpected happened.', { cause: error });
}

function adviceFor({ code, cause }: A2aError): string {
  if (code === 'AUTH_FAILED') return ' Register other credentials.';
  if (!(cause instanceof FetchError)) return '';
  if (cause.code === 'PRIVATE_ADDRESS') return ' Add its host to AGENT3_ALLOW_HOSTS if it is yours.';
  return cause.code === 'REDIRECT' ? ' Register its new card.' : '';
}

/** The agent may have moved or changed its authentication, and it has not started to work. */
export function suggestsStaleCard({ code, statusCode = 0, isNotStarted }: CallFailure): boolean {
  if (code === 'UNREACHABLE') return isNotStarted;
  if (code === 'AUTH_MISSING' || code === 'AUTH_FAILED') return statusCode === 401;
  return code === 'ADDRESS_REFUSED' || (code === 'PROTOCOL' && [404, 405, 410].includes(statusCode));
}

/** The agent has certainly done no work: the message was not sent, or it was refused. */
export function isRefusal({ code, statusCode = 0, rpcCode, isNotStarted }: CallFailure): boolean {
  if (isNotStarted || rpcCode !== undefined || code === 'ADDRESS_REFUSED') return true;
  return statusCode >= 400 && statusCode < 500;
}
