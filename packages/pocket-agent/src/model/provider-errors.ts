// Reads the errors of providers: status, headers, body, how long to wait, errors inside a stream.
import { errorText, redactSecrets, retryAfterHeader } from '@pocket-agent/kit';

/** The response headers of an error, with lower-case names. */
export function headersOf(error: unknown): Record<string, string> {
  const headers = fieldOf(error, 'responseHeaders');
  if (typeof headers !== 'object' || headers === null) return {};
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(value)]));
}

export function statusOf(error: unknown): number | undefined {
  const status = fieldOf(error, 'statusCode');
  return typeof status === 'number' ? status : undefined;
}

/** The server accepted the request and sent nothing until Node gave up: it may have worked on it, and bill the call. */
export function wasSilent(error: unknown): boolean {
  return /Headers ?Timeout|UND_ERR_HEADERS_TIMEOUT/.test(errorText(error));
}

/** How long the provider asks to wait, in its headers or, as Google does, in the body. */
export function retryAfterMs(error: unknown): number | undefined {
  return retryAfterHeader(headersOf(error)) ?? retryInfo(bodyOf(error));
}

/** From the `google.rpc.RetryInfo` in the details of an error. */
function retryInfo(body: unknown): number | undefined {
  const details = fieldOf(fieldOf(body, 'error'), 'details');
  if (!Array.isArray(details)) return undefined;
  const delays = details.map((detail) => fieldOf(detail, 'retryDelay')).filter((delay) => typeof delay === 'string');
  const [, seconds] = /^(\d+(?:\.\d+)?)s$/.exec(delays[0] ?? '') ?? [];
  return seconds === undefined ? undefined : Number(seconds) * 1000;
}

/** Why a call failed: never empty, and never just a status name if the provider said more. */
export function providerErrorText(error: unknown): string {
  if (isHtml(error)) return htmlText(statusOf(error), String(fieldOf(error, 'url') ?? ''));
  const text = errorText(error).slice(0, MAX_ERROR_TEXT).trim();
  const said = providerText(error);
  if (/^Invalid JSON response/.test(text)) return said ?? otherFormatText(error);
  if (said && !text.includes(said)) return STATUS_TEXT.test(text) ? said : `${text}: ${said}`;
  if (text) return text;
  const status = statusOf(error);
  return status === undefined ? 'the provider gave no reason' : `HTTP ${status} without a reason`;
}

/** Whether the provider rejected the key or the name of the model. Google answers 400 to a wrong key. */
export function rejectionOf(error: unknown): 'key' | 'model' | undefined {
  const status = statusOf(error);
  if (isHtml(error)) return undefined;
  if (status === 401 || status === 403) return 'key';
  const text = providerErrorText(error);
  if (status === 400 && /API key (not valid|expired)/i.test(text)) return 'key';
  return status === 404 && /\bmodels?\b|deployment/i.test(text) ? 'model' : undefined;
}

/** The text of an error whose body the provider package could not read. */
const STATUS_TEXT =
  /^(|bad request|unauthorized|forbidden|not found|unprocessable \w+|payload too large|request entity too large|too many requests|internal server error|bad gateway|service unavailable)$/i;

/** The text in the body of an error, in any of the known shapes, without secrets. */
function providerText(error: unknown): string | undefined {
  const text = textIn(bodyOf(error));
  return text && redactSecrets(text.slice(0, MAX_BODY_TEXT));
}

const MAX_BODY_TEXT = 1_000;
/** The patterns for error texts are not made for more. */
const MAX_ERROR_TEXT = 20_000;

function textIn(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim() || undefined;
  if (typeof value !== 'object' || value === null) return undefined;
  if (Array.isArray(value)) return value.map(issueText).filter(Boolean).join('; ') || undefined;
  for (const name of ['message', 'detail', 'error', 'error_description', 'msg', 'errors']) {
    const found = textIn(fieldOf(value, name));
    if (found) return found;
  }
  return undefined;
}

/** One entry of the list of problems in an error of FastAPI. */
function issueText(issue: unknown): string | undefined {
  const place = fieldOf(issue, 'loc');
  const text = textIn(issue);
  return text && Array.isArray(place) ? `${place.join('.')}: ${text}` : text;
}

/** The parsed body of the response to a failed call. */
function bodyOf(error: unknown): unknown {
  const body = fieldOf(error, 'responseBody');
  if (typeof body !== 'string') return fieldOf(error, 'data');
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** The codes and types of an error, in a response body or in a stream. */
export function codesOf(error: unknown): string {
  const body = bodyOf(error);
  const codes = [error, body, fieldOf(body, 'error')].flatMap((each) => [fieldOf(each, 'code'), fieldOf(each, 'type')]);
  return codes.filter((code) => typeof code === 'string').join(' ');
}

/** True if the server sent a web page instead of an answer. */
export function isHtml(error: unknown): boolean {
  if (/^text\/html/i.test(headersOf(error)['content-type'] ?? '')) return true;
  const body = fieldOf(error, 'responseBody');
  return typeof body === 'string' && /^\s*<(!doctype html|html)/i.test(body.slice(0, MAX_BODY_TEXT));
}

/** Throws if a stream begins with a web page. */
export function refuseHtml(headers: Record<string, string> | undefined): void {
  if (!/^text\/html/i.test(contentTypeOf(headers))) return;
  throw Object.assign(new Error(htmlText(200, '')), { isRetryable: false, responseHeaders: headers, statusCode: 200 });
}

export function contentTypeOf(headers: Record<string, string> | undefined): string {
  return Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === 'content-type')?.[1] ?? '';
}

/** Replaces the list of problems that the provider package found. */
function otherFormatText(error: unknown): string {
  const body = String(fieldOf(error, 'responseBody') ?? '').slice(0, MAX_BODY_TEXT);
  const start = redactSecrets(body).replace(/\s+/g, ' ').trim().slice(0, 200);
  const sent = start === '' ? 'an empty answer' : 'an answer in another format than this provider';
  const shown = start === '' ? '' : ` It begins with: ${start}`;
  return `the server${placeOf(String(fieldOf(error, 'url') ?? ''))} sent ${sent}. Check the base URL.${shown}`;
}

function htmlText(status: number | undefined, url: string): string {
  const code = status === undefined || status < 400 ? '' : ` (HTTP ${status})`;
  return `the server${placeOf(url)} sent a web page${code} instead of an answer. Check the base URL`;
}

function placeOf(url: string): string {
  return URL.canParse(url) ? ` at ${new URL(url).origin}${new URL(url).pathname}` : '';
}

/** Errors in streams are often plain objects. */
export function streamError(error: unknown): Error {
  if (error instanceof Error) return error;
  if (typeof error !== 'object' || error === null) return new Error(String(error));
  const { message, ...facts } = { message: undefined, code: undefined, ...error };
  const text = typeof message === 'string' ? message : JSON.stringify(error);
  const status = Number(facts.code);
  return Object.assign(new Error(text), status >= 400 && status < 600 ? { statusCode: status } : {}, facts);
}

export function fieldOf(source: unknown, name: string): unknown {
  return typeof source === 'object' && source !== null ? Reflect.get(source, name) : undefined;
}
