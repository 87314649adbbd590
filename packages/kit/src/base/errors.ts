// CodedError, the base of the error classes of all packages, and PocketError, the one of the library.
import { redactErrorText, redactSecrets } from './redaction.ts';

/** Why something failed, for programs; the message says what to do. */
export type PocketErrorCode =
  | 'CONFIG_INVALID'
  | 'MODEL_UNKNOWN'
  | 'MODEL_PACKAGE_MISSING'
  | 'MODEL_KEY_MISSING'
  | 'MODEL_FAILED'
  | 'FILE_UNSUPPORTED'
  | 'ANSWER_CUT_OFF'
  | 'ANSWER_FILTERED'
  | 'OUTPUT_INVALID'
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
  | 'MCP_REQUEST_FAILED'
  | 'CONVERSATION_BUSY'
  | 'CONVERSATION_LOST'
  | 'RUN_SUSPENDED';

/** Programs branch on `code`; people read `message`, which says what to do and names the cause if that helps. */
export class CodedError<Code extends string> extends Error {
  readonly code: Code;

  constructor(code: Code, message: string, { cause }: { cause?: unknown } = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** The error of the library: `code` for programs, `message` for people. */
export class PocketError extends CodedError<PocketErrorCode> {
  override readonly name = 'PocketError';
  /** Data for programs, for example the partial answer of `ANSWER_CUT_OFF`. */
  readonly details: Readonly<Record<string, unknown>>;

  /** Secrets in `message` are redacted: it may quote a provider or a server. */
  constructor(
    code: PocketErrorCode,
    message: string,
    options: { cause?: unknown; details?: Record<string, unknown> } = {},
  ) {
    super(code, redactErrorText(message), options);
    this.details = options.details ?? {};
    if (this.stack && setupCodes.includes(code)) this.stack = withoutOwnFrames(this.stack);
  }

  /** `instanceof PocketError` is also true for errors of another copy of this package; subclasses compare as usual. */
  static override [Symbol.hasInstance](value: unknown): boolean {
    // biome-ignore lint/complexity/noThisInStatic: `this` may be a subclass
    if (Function.prototype[Symbol.hasInstance].call(this, value)) return true;
    // biome-ignore lint/complexity/noThisInStatic: as above
    return this === PocketError && isPocketError(value);
  }
}

/** Mistakes in the setup of a program: the line to look at is one of the program. */
const setupCodes: readonly PocketErrorCode[] = [
  'CONFIG_INVALID',
  'MODEL_UNKNOWN',
  'MODEL_KEY_MISSING',
  'MODEL_PACKAGE_MISSING',
];
const OWN_FRAME = /^\s+at .*[\\/]node_modules[\\/](?:@pocket-agent|pocket-agent)[\\/]/;

function withoutOwnFrames(stack: string): string {
  return stack
    .split('\n')
    .filter((line) => !OWN_FRAME.test(line))
    .join('\n');
}

/** For options, configuration and other input of the program that cannot work. */
export function configError(message: string, cause?: unknown): PocketError {
  return new PocketError('CONFIG_INVALID', message, { cause });
}

/** Causes can form a circle. */
const MAX_CAUSES = 100;

/** Also true for errors of another copy of this package in the same process. */
export function isPocketError(error: unknown, code?: PocketErrorCode): error is PocketError {
  try {
    if (!(error instanceof Error) || error.name !== 'PocketError' || !('code' in error)) return false;
    return code === undefined || error.code === code;
  } catch {
    return false; // a proxy that throws
  }
}

/** The message of any thrown value with its root cause ("fetch failed: connect ECONNREFUSED …"), secrets redacted. */
export function errorText(error: unknown): string {
  return redactErrorText(fullText(error));
}

/** What foreign code threw, or an error in its place if it cannot be read: a revoked proxy throws at every look. */
export function readableError(thrown: unknown): unknown {
  try {
    const { name, message } = Object(thrown);
    if (!(thrown instanceof Error) || (typeof name === 'string' && typeof message === 'string')) return thrown;
  } catch {
    // not even its name can be read
  }
  return new Error(errorText(thrown));
}

/** Never throws, even for values that cannot be converted to a string, such as an object without a prototype. */
function fullText(error: unknown): string {
  try {
    return error instanceof Error ? textWithCause(error) : String(error);
  } catch {
    return 'a thrown value that cannot be shown as text';
  }
}

function textWithCause(error: Error): string {
  if (error instanceof CodedError || isPocketError(error)) return error.message; // already names its cause
  const message = ownMessage(error);
  const cause = error.cause instanceof Error ? rootMessage(error.cause) : '';
  const text = cause && !message.includes(cause) ? `${message}: ${cause}` : message;
  return text.trim() === '' ? `${error.name} without a message` : text;
}

/** One finding of a Standard Schema validator. */
interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** The findings of a schema validator as text: `port: must be a number; host: …`. */
export function schemaIssuesText(issues: readonly SchemaIssue[]): string {
  return schemaIssueTexts(issues).join('; ');
}

/** The same as a list, one item for each finding. */
export function schemaIssueTexts(issues: readonly SchemaIssue[]): string[] {
  return issues.map(({ path = [], message }) => {
    const place = path.map((step) => String(typeof step === 'object' ? step.key : step)).join('.');
    return place ? `${place}: ${message}` : message;
  });
}

/** Shorter credentials may be part of ordinary words, so they are not redacted. */
const MIN_SECRET_LENGTH = 6;

/**
 * The `error_description` that a server gave for refusing `credential`, as ` It says: ….`, or an empty string.
 * The credential itself is redacted.
 */
export function refusalReason(answer: string | null, credential: string): string {
  const [, said = ''] = /error_description"?\s*[:=]\s*"((?:[^"\\]|\\.)*)"/.exec(answer ?? '') ?? [];
  const secret = credential.split(' ').at(-1) ?? '';
  const redacted = redactSecrets(secret.length < MIN_SECRET_LENGTH ? said : said.replaceAll(secret, '[redacted]'));
  const shown = redacted.replace(/\s+/g, ' ').trim().slice(0, 200);
  return shown && ` It says: ${shown.replace(/\.$/, '')}.`;
}

/** Messages of these codes are written by this library and only concern the caller's own request. */
const publicCodes: readonly PocketErrorCode[] = [
  'ANSWER_CUT_OFF',
  'ANSWER_FILTERED',
  'OUTPUT_INVALID',
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
  'CONVERSATION_BUSY',
  'CONVERSATION_LOST',
  'RUN_SUSPENDED',
];

/** True if remote callers may read the message. If not, log the error; callers get `publicErrorText`. */
export function isPublicError(error: unknown): error is PocketError {
  return isPocketError(error) && publicCodes.includes(error.code);
}

/**
 * The message for remote callers. Messages that may quote a provider or an internal service are replaced, by
 * `details.publicText` if there is one.
 */
export function publicErrorText(error: unknown, what = 'The agent'): string {
  if (isPublicError(error)) return error.message;
  // errors of programs may have the name only
  const text = isPocketError(error) ? error.details?.publicText : undefined;
  if (typeof text === 'string') return text;
  return `${what} failed${isPocketError(error) ? ` (${error.code})` : ''}; its log says why.`;
}

function rootMessage(error: Error): string {
  let root = error;
  for (let depth = 0; root.cause instanceof Error && depth < MAX_CAUSES; depth++) root = root.cause;
  return ownMessage(root);
}

/** Node throws an AggregateError without a message when every address of a host refuses the connection. */
function ownMessage(error: Error): string {
  return error instanceof AggregateError && error.message === ''
    ? error.errors.map(fullText).join(', ')
    : String(error.message);
}
