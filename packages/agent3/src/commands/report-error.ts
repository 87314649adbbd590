// An error as a line on stderr and an exit code: 2 for what was asked wrongly, 1 for what went wrong.
import { StoreError } from '@pocket-agent/store';
import { Agent3Error } from '../base/agent3-error.ts';
import { cleanText } from '../base/clean-text.ts';

export function reportError(error: unknown): number {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`agent3: ${cleanText(text)}\n`);
  const isOurs = error instanceof Agent3Error || error instanceof StoreError;
  return isOurs && /^(CONFIG|INPUT)_INVALID$/.test(error.code) ? 2 : 1;
}
