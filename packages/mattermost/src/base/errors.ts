// The error class of this package. Programs branch on `code`; agents read `message`, which says what to do next.
import { CodedError } from '@pocket-agent/kit';

/** Why a call failed: its arguments, Mattermost, or the network. */
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

interface MattermostErrorOptions {
  cause?: unknown;
  /** HTTP status, if Mattermost responded. */
  status?: number | undefined;
  /** Mattermost's error id. */
  errorId?: string | undefined;
}

export class MattermostError extends CodedError<MattermostErrorCode> {
  override readonly name = 'MattermostError';
  readonly status: number | undefined;
  readonly errorId: string | undefined;

  constructor(code: MattermostErrorCode, message: string, options: MattermostErrorOptions = {}) {
    super(code, message, options);
    this.status = options.status;
    this.errorId = options.errorId;
  }
}

/** Whether the error is a `MattermostError`, and has the code if one is given. */
export function isMattermostError(error: unknown, code?: MattermostErrorCode): error is MattermostError {
  return error instanceof MattermostError && (code === undefined || error.code === code);
}

const TRANSIENT_CODES: readonly MattermostErrorCode[] = [
  'UNREACHABLE',
  'TIMEOUT',
  'SERVER_ERROR',
  'RATE_LIMITED',
  'ANSWER_INVALID',
];

/** Whether the same request may succeed later. */
export function isTransient(error: unknown): boolean {
  return isMattermostError(error) && TRANSIENT_CODES.includes(error.code);
}
