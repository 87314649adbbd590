// Judges failed requests: may they be retried, did they take effect, and what is reported.
import { errorText } from '@pocket-agent/kit';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { ApiRequest } from './api-request.ts';
import { canRetryFault, canRetryStatus, isCertificateError, isNetworkError, wasNeverSent } from './retry.ts';

/** Error id while the first of two identical posts is being stored. */
const STILL_PENDING = 'api.post.deduplicate_create_post.pending';
const MAY_HAVE_TAKEN_EFFECT = ' The change may have been made anyway: check before you repeat it.';

export function unexpectedResponse({ method, path }: ApiRequest, what: string, cause?: unknown): MattermostError {
  return new MattermostError('ANSWER_INVALID', `The response of Mattermost to ${method} ${path} ${what}.`, { cause });
}

export function canRetry(error: unknown, { safety, isDeduplicated = false }: ApiRequest): boolean {
  if (!isMattermostError(error)) return canRetryFault(error, isDeduplicated ? 'deduplicated' : safety);
  const isPending = isDeduplicated && error.errorId === STILL_PENDING;
  return isPending || canRetryStatus(error.status ?? 0, safety);
}

/** Whether a change may have been made despite this error. */
export function isOutcomeUnknown(error: unknown): boolean {
  if (isMattermostError(error)) return ['TIMEOUT', 'SERVER_ERROR', 'ANSWER_INVALID'].includes(error.code);
  return isNetworkError(error) && !isCertificateError(error) && !wasNeverSent(error);
}

interface ErrorContext {
  request: ApiRequest;
  mayHaveTakenEffect: boolean;
  token: string | undefined;
  url: string;
}

/** Removes the token from the message, and adds a warning if the change may have been made. */
export function toMattermostError(error: unknown, context: ErrorContext): unknown {
  const { request, mayHaveTakenEffect, token, url } = context;
  const redact = (text: string) => (token === undefined ? text : text.replaceAll(token, '[token]'));
  const finish = (text: string) => redact(mayHaveTakenEffect ? text + MAY_HAVE_TAKEN_EFFECT : text);
  if (isMattermostError(error)) {
    const { code, status, errorId, cause } = error;
    const message = finish(error.message);
    if (message === error.message) return error;
    return new MattermostError(code, message, { status, errorId: errorId && redact(errorId), cause });
  }
  if (!isNetworkError(error)) return error;
  const advice = isCertificateError(error)
    ? 'Ask for MATTERMOST_EXTRA_CA_CERTS to be set to the certificate of its authority.'
    : 'Try again after a while; if the address is wrong, ask for MATTERMOST_URL to be corrected.';
  const place = `${url} (${request.method} ${request.path})`;
  const text = `Mattermost could not be reached at ${place}: ${errorText(error)}. ${advice}`;
  return new MattermostError('UNREACHABLE', finish(text), { cause: error });
}
