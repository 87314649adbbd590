// The one error class of this package. Programs branch on `code`; agents read `message`, which says what to do next.

export type MattermostErrorCode =
  | 'CONFIG_INVALID'
  | 'ARGUMENTS_INVALID'
  | 'REFUSED'
  | 'AUTHENTICATION_FAILED'
  | 'NOT_FOUND'
  | 'CLIENT_ERROR'
  | 'RATE_LIMITED'
  | 'SERVER_ERROR'
  | 'UNREACHABLE'
  | 'TIMEOUT'
  | 'ABORTED'
  | 'ANSWER_INVALID'
  | 'TOO_LARGE'
  | 'FILE_FAILED';

export interface MattermostErrorOptions {
  cause?: unknown;
  /** The HTTP status, when Mattermost answered. */
  status?: number | undefined;
  /** Mattermost's own name of the error. */
  errorId?: string | undefined;
}

export class MattermostError extends Error {
  override readonly name = 'MattermostError';
  readonly code: MattermostErrorCode;
  readonly status: number | undefined;
  readonly errorId: string | undefined;

  constructor(code: MattermostErrorCode, message: string, { cause, status, errorId }: MattermostErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.errorId = errorId;
  }
}

export function isMattermostError(error: unknown, code?: MattermostErrorCode): error is MattermostError {
  return error instanceof MattermostError && (code === undefined || error.code === code);
}

const PASSING: readonly MattermostErrorCode[] = [
  'UNREACHABLE',
  'TIMEOUT',
  'SERVER_ERROR',
  'RATE_LIMITED',
  'ANSWER_INVALID',
];

/** Whether the same may work after a while. */
export function isPassing(error: unknown): boolean {
  return isMattermostError(error) && PASSING.includes(error.code);
}

/** The text of anything thrown. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Node gives an AggregateError without a text when several addresses refuse a connection
  if (error instanceof AggregateError && error.message === '') return error.errors.map(errorText).join(', ');
  return error.message;
}
