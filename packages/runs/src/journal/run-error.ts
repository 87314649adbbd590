// RunError. Programs branch on `code`.
import { CodedError } from '@pocket-agent/kit';

/** Why a run has no result, or a question took no answer. */
export type RunErrorCode =
  | 'RUN_UNKNOWN'
  | 'RUN_EXISTS'
  | 'RUN_FAILED'
  | 'RUN_CANCELLED'
  | 'RUN_LOST'
  | 'QUESTION_UNKNOWN'
  | 'QUESTION_CLOSED'
  | 'ANSWER_INVALID';

/** The error of a run or a question that cannot be found, used or answered. */
export class RunError extends CodedError<RunErrorCode> {
  override readonly name = 'RunError';
}

export function isRunError(error: unknown, code: RunErrorCode): error is RunError {
  return error instanceof RunError && error.code === code;
}
