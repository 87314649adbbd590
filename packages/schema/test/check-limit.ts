// Shortens the time limit of schema checks, so that tests of hostile schemas take less time.
import { onTestFinished } from 'vitest';
import { checkLimit } from '../src/foreign-schema.ts';

/** Until the end of the test. */
export function limitChecks(ms: number): void {
  const { ms: before } = checkLimit;
  checkLimit.ms = ms;
  onTestFinished(() => {
    checkLimit.ms = before;
  });
}
