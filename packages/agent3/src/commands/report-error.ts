// An error as a line on stderr and an exit code: 2 for what was asked wrongly, 1 for what went wrong.
import { StoreError } from '@pocket-agent/store';
import { cleanText } from '../bridge/clean-text.ts';
import { Agent3Error } from '../registry/agent3-error.ts';

export function reportError(error: unknown): number {
  const text = error instanceof Error ? error.message : String(error);
  process.stderr.write(`agent3: ${cleanText(text)}\n`);
  const isOurs = error instanceof Agent3Error || error instanceof StoreError;
  return isOurs && /^(CONFIG|INPUT)_INVALID$/.test(error.code) ? 2 : 1;
}
