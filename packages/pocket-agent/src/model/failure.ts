// Classifies why a model call failed: decides about retries, other deployments and fallbacks.
import { isPocketError } from '@pocket-agent/kit';
import { codesOf, fieldOf, isHtml, providerErrorText, retryAfterMs, statusOf } from './provider-errors.ts';

export type FailureKind =
  | 'rate-limit'
  | 'key'
  | 'not-found'
  | 'context-window'
  | 'server'
  | 'timeout'
  | 'network'
  | 'request';

export interface Failure {
  kind: FailureKind;
  reason: string;
  retryAfterMs: number | undefined;
}

/** Whether another deployment may succeed where this one failed. */
export function isWorthRetrying(kind: FailureKind): boolean {
  return kind !== 'request' && kind !== 'context-window';
}

/** A wrong key, wrong settings or a missing model: trying again later does not help. */
export function isPermanent(kind: FailureKind): boolean {
  return kind === 'key' || kind === 'not-found';
}

/** Google and Anthropic answer 400 where others answer 401 and 402; OpenAI answers 429 if there is no credit left. */
const REJECTED_ACCOUNT = /API key (not valid|expired)|credit balance is too low|insufficient_quota/i;

export function failureOf(error: unknown): Failure {
  return { kind: kindOf(error), reason: providerErrorText(error), retryAfterMs: retryAfterMs(error) };
}

function kindOf(error: unknown): FailureKind {
  if (isPocketError(error, 'TIMEOUT')) return 'timeout';
  if (isPocketError(error, 'MODEL_KEY_MISSING') || isPocketError(error, 'CONFIG_INVALID')) return 'key';
  if (isPocketError(error, 'MODEL_PACKAGE_MISSING')) return 'not-found';
  const status = statusOf(error);
  // a gateway that is down sends a web page for a while; a wrong address (4xx, 501) sends one every time
  if (isHtml(error) && ((status ?? 0) < 500 || status === 501)) return 'not-found';
  const text = `${providerErrorText(error)} ${codesOf(error)}`;
  if (isContextWindow(status, text)) return 'context-window';
  if ((status === 400 || status === 429) && REJECTED_ACCOUNT.test(text)) return 'key';
  return status === undefined ? kindOfText(error, text) : kindOfStatus(status);
}

function kindOfText(error: unknown, text: string): FailureKind {
  const all = `${fieldOf(error, 'name')} ${text}`;
  if (/AI_LoadAPIKeyError/.test(all)) return 'key';
  if (/TimeoutError|ETIMEDOUT|timed out|took too long/i.test(all)) return 'timeout';
  if (/rate.?limit/i.test(all)) return 'rate-limit';
  if (/overloaded|server_error|api_error/i.test(all)) return 'server';
  const isNetwork =
    /fetch failed|network|socket|ECONN|EPIPE|EAI_AGAIN|terminated|cannot connect|ended (before|without)/i;
  return isNetwork.test(all) ? 'network' : 'request';
}

function kindOfStatus(status: number): FailureKind {
  if (status === 429) return 'rate-limit';
  if (status === 401 || status === 402 || status === 403) return 'key';
  if (status === 404) return 'not-found';
  if (status === 408 || status === 504) return 'timeout';
  // below 400: the answer broke off or could not be parsed
  return status >= 500 || status === 409 || status < 400 ? 'server' : 'request';
}

/** The codes of OpenAI and llama.cpp. */
const CONTEXT_CODES = /context_length_exceeded|exceed_context_size_error/;
const CONTEXT_TEXT =
  /context.{0,20}(length|window|limit|size)|(prompt|input) (is )?too long|too many tokens|maximum.{0,20}(tokens|prompt length)/i;
/** A request above the limit per minute, or above the size limit of the server, fails at any time. */
const TOO_LARGE = /request (is )?too large|request_too_large|requested more tokens|request (exceeds|entity|size)/i;

function isContextWindow(status: number | undefined, text: string): boolean {
  if (CONTEXT_CODES.test(text)) return true;
  if (status === 413 || status === 429) return TOO_LARGE.test(text) || (status === 413 && CONTEXT_TEXT.test(text));
  return (status === undefined || status === 400 || status === 422) && CONTEXT_TEXT.test(text);
}
