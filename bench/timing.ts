// How long something takes, once it has been done often enough to be fast.
import type { Effort } from './contender.ts';

export interface Timing {
  /** Microseconds of CPU of this process for one run, its garbage collection included. */
  cpu: number;
  /** Microseconds on the clock for one run. */
  wall: number;
}

export async function timed(run: () => Promise<unknown>, { warmMs, measureMs }: Effort): Promise<Timing> {
  await repeatFor(warmMs, run, WARM_RUNS);
  globalThis.gc?.();
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  const runs = await repeatFor(measureMs, run);
  const wall = (performance.now() - begun) * 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / runs, wall: wall / runs };
}

/** Code is compiled after a number of runs, not after a time: the quick get as many, the slow at least some. */
const WARM_RUNS = 400;

/** So many times, or four times as long; the clock is not looked at more often than every hundredth of the time. */
async function repeatFor(milliseconds: number, run: () => Promise<unknown>, leastRuns = 3): Promise<number> {
  const begun = performance.now();
  let runs = 0;
  let batch = 1;
  for (;;) {
    const batchBegun = performance.now();
    for (let count = 0; count < batch; count++) await run();
    runs += batch;
    const now = performance.now();
    if (now - begun >= milliseconds && (runs >= leastRuns || (now - begun > 4 * milliseconds && runs >= 3)))
      return runs;
    if (now - batchBegun < milliseconds / 100) batch *= 2;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
