// Shortens the time limit of schema checks, so that tests of hostile schemas take less time. This changes a value inside the
// package: users cannot configure the limit, so a test of an agent has no other way.
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
