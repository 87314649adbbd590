// The one error class of the library. Programs branch on `code`; people read `message`, which names the way out.
import type { StandardSchemaV1 } from '@modelcontextprotocol/client';
import { redactErrorText, redactSecrets } from './redaction.ts';

export type PocketErrorCode =
  | 'CONFIG_INVALID'
  | 'MODEL_UNKNOWN'
  | 'MODEL_PACKAGE_MISSING'
  | 'MODEL_KEY_MISSING'
  | 'MODEL_FAILED'
  | 'ANSWER_CUT_OFF'
  | 'ANSWER_FILTERED'
  | 'MAX_STEPS'
  | 'BUDGET_REACHED'
  | 'PRICE_UNKNOWN'
  | 'RATE_LIMITED'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'AGENT_CLOSED'
  | 'AGENT_CYCLE'
  | 'TOOL_UNKNOWN'
  | 'TOOL_ARGUMENTS_INVALID'
  | 'TOOL_DENIED'
  | 'ACCESS_DENIED'
  | 'TOOL_FAILED'
  | 'TOOL_TIMEOUT'
  | 'TOOL_OUTCOME_UNKNOWN'
  | 'MCP_CONNECT_FAILED'
  | 'MCP_AUTHORIZATION_NEEDED'
  | 'MCP_REQUEST_FAILED';

export class PocketError extends Error {
  override readonly name = 'PocketError';
  readonly code: PocketErrorCode;
  /** What a program may want beside the text, for example the partial answer of `ANSWER_CUT_OFF`. */
  readonly details: Readonly<Record<string, unknown>>;

  /** Secrets in `message` are redacted: it may repeat what a provider or a server said. */
  constructor(
    code: PocketErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(redactErrorText(message), options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? {};
  }
}

/** Also true for an error made by another copy of this package in the same process. */
export function isPocketError(error: unknown, code?: PocketErrorCode): error is PocketError {
  if (!(error instanceof Error) || error.name !== 'PocketError' || !('code' in error)) return false;
  return code === undefined || error.code === code;
}

/** The text of anything thrown, with the causes that explain it ("fetch failed: connect ECONNREFUSED …"), secrets redacted. */
export function errorText(error: unknown): string {
  return redactErrorText(fullText(error));
}

function fullText(error: unknown): string {
  if (!(error instanceof Error)) return plainText(error);
  if (isPocketError(error)) return error.message; // ours say what is behind them
  const cause = error.cause instanceof Error ? rootMessage(error.cause) : '';
  const text = cause && !error.message.includes(cause) ? `${error.message}: ${cause}` : error.message;
  return text.trim() === '' ? `${error.name} without a message` : text;
}

/** What a schema finds wrong with a value, and where. */
export function issuesText(issues: readonly StandardSchemaV1.Issue[]): string {
  const inWords = ({ path = [], message }: StandardSchemaV1.Issue) => {
    const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
    return place ? `${place}: ${message}` : message;
  };
  return issues.map(inWords).join('; ');
}

/** Also of what cannot be made a text, such as an object without a prototype. */
function plainText(value: unknown): string {
  try {
    return String(value);
  } catch {
    return 'something was thrown that has no text';
  }
}

/** What is shorter stands in ordinary words, and taking it out would garble them. */
const SHORTEST_SECRET = 6;

/**
 * ` It says: …`, when a server that refused `credential` has explained itself, in its body or its challenge; without
 * the credential, if that has at least `SHORTEST_SECRET` characters.
 */
export function refusalReason(answer: string | null, credential: string): string {
  const [, said = ''] = /error_description"?\s*[:=]\s*"((?:[^"\\]|\\.)*)"/.exec(answer ?? '') ?? [];
  const secret = credential.split(' ').at(-1) ?? '';
  const redacted = redactSecrets(secret.length < SHORTEST_SECRET ? said : said.replaceAll(secret, '[redacted]'));
  const harmless = redacted.replace(/\s+/g, ' ').trim().slice(0, 200);
  return harmless && ` It says: ${harmless.replace(/\.$/, '')}.`;
}

/** Errors of these codes have a text that this library wrote, about the caller's own request. */
const publicCodes: readonly PocketErrorCode[] = [
  'ANSWER_CUT_OFF',
  'ANSWER_FILTERED',
  'MAX_STEPS',
  'BUDGET_REACHED',
  'TIMEOUT',
  'ABORTED',
  'AGENT_CLOSED',
  'TOOL_UNKNOWN',
  'TOOL_ARGUMENTS_INVALID',
  'TOOL_DENIED',
  'TOOL_TIMEOUT',
  'ACCESS_DENIED',
];

/** Whether remote callers may read the text of an error. If not, log it: they get a neutral text. */
export function isPublic(error: unknown): error is PocketError {
  return isPocketError(error) && publicCodes.includes(error.code);
}

/** What remote callers read of an error. The text of others may repeat what a provider or an inner service said. */
export function textForOthers(error: unknown, what = 'The agent'): string {
  if (isPublic(error)) return error.message;
  return `${what} failed${isPocketError(error) ? ` (${error.code})` : ''}; its log says why.`;
}

function rootMessage(error: Error): string {
  if (error.cause instanceof Error) return rootMessage(error.cause);
  // Node gives an AggregateError without a text when several addresses refuse a connection.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join(', ');
  return error.message;
}
