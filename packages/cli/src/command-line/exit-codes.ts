// The exit codes of the command, and which one an error leads to.
import { isPocketError, type PocketErrorCode } from '@pocket-agent/kit';

export const exitCodes = {
  answered: 0,
  failed: 1,
  usage: 2,
  limit: 3,
  refused: 4,
  /** Answered, but a server, tool folder or skill that was asked for does not work. */
  incomplete: 5,
  terminalClosed: 129,
  interrupted: 130,
  brokenPipe: 141,
  terminated: 143,
} as const;

const byError: Partial<Record<PocketErrorCode, number>> = {
  CONFIG_INVALID: exitCodes.usage,
  MODEL_UNKNOWN: exitCodes.usage,
  MODEL_KEY_MISSING: exitCodes.usage,
  MODEL_PACKAGE_MISSING: exitCodes.usage,
  PRICE_UNKNOWN: exitCodes.usage,
  FILE_UNSUPPORTED: exitCodes.usage,
  MAX_STEPS: exitCodes.limit,
  BUDGET_REACHED: exitCodes.limit,
  TIMEOUT: exitCodes.limit,
  ACCESS_DENIED: exitCodes.refused,
  TOOL_DENIED: exitCodes.refused,
};

export function exitCodeOf(error: unknown): number {
  if (!isPocketError(error)) return exitCodes.failed;
  if (error.details.refused) return exitCodes.usage; // the provider refused the key or the model
  return byError[error.code] ?? exitCodes.failed;
}
