// Polling for asynchronous effects.
import { expect } from 'vitest';

/** Polls until the assertion holds. */
export function until<Value>(read: () => Value): ReturnType<typeof expect.poll<Value>> {
  return expect.poll(read, { interval: 10 });
}
