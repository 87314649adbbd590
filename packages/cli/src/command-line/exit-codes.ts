// What the exit codes of the command say, and which one an error leads to.
import { isPocketError, type PocketErrorCode } from '@pocket-agent/kit';

export const exitCodes = {
  answered: 0,
  failed: 1,
  mistake: 2,
  limit: 3,
  refused: 4,
  hungUp: 129,
  interrupted: 130,
  brokenPipe: 141,
  terminated: 143,
} as const;

const byError: Partial<Record<PocketErrorCode, number>> = {
  CONFIG_INVALID: exitCodes.mistake,
  MODEL_UNKNOWN: exitCodes.mistake,
  MODEL_KEY_MISSING: exitCodes.mistake,
  MODEL_PACKAGE_MISSING: exitCodes.mistake,
  PRICE_UNKNOWN: exitCodes.mistake,
  MAX_STEPS: exitCodes.limit,
  BUDGET_REACHED: exitCodes.limit,
  TIMEOUT: exitCodes.limit,
  ACCESS_DENIED: exitCodes.refused,
  TOOL_DENIED: exitCodes.refused,
};

export function exitCodeOf(error: unknown): number {
  if (!isPocketError(error)) return exitCodes.failed;
  if (error.details.refused) return exitCodes.mistake; // the key or the model, by its provider
  return byError[error.code] ?? exitCodes.failed;
}
