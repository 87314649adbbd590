// Series in `*.series.test.ts`: tests that repeat one proof, for each client, signal or seed.

/** `npm test` runs the first `few` members, `npm run test:services` all of them. */
export function series<T>(few: number, all: readonly T[]): readonly T[] {
  return process.env.TEST_SERIES === 'whole' ? all : all.slice(0, few);
}
