// Prints an error to stderr and returns the exit code: 2 for invalid input or settings, 1 for other errors.
import { StoreError } from '@pocket-agent/store';
import { Agent3Error } from '../base/agent3-error.ts';
import { cleanText } from '../base/clean-text.ts';

export function reportError(error: unknown): number {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`agent3: ${cleanText(text)}\n`);
  const isOurs = error instanceof Agent3Error || error instanceof StoreError;
  return isOurs && /^(CONFIG|INPUT)_INVALID$/.test(error.code) ? 2 : 1;
}
