// Measures time and CPU after a warm-up.
import type { Effort } from '../contenders/contender.ts';
import { waitForTurn } from './turn.ts';

interface Timing {
  /** CPU time of this process per run in microseconds, including garbage collection. */
  cpu: number;
  /** Elapsed time per run in microseconds. */
  wall: number;
}

type Run = () => Promise<unknown>;

export async function timed(run: Run, effort: Effort): Promise<Timing> {
  const [timing] = await timedTogether([run], effort);
  return timing as Timing;
}

/** Alternates between several functions, so that they can be compared. Other contenders have turns in between. */
export async function timedTogether(runs: readonly Run[], effort: Effort): Promise<Timing[]> {
  await warmUp(runs, effort);
  const parts = runs.map((): Timing[] => []);
  await inParts(effort, async (milliseconds) => {
    for (const [index, run] of runs.entries()) parts[index]?.push(await measurePart(run, milliseconds));
  });
  return parts.map((timings) => ({
    cpu: median(timings.map(({ cpu }) => cpu)),
    wall: median(timings.map(({ wall }) => wall)),
  }));
}

/** V8 compiles code after a number of runs, not after a time. Slow code may get fewer runs: see `warmUp`. */
export const WARM_RUNS = 1_200;
/** The length of one warm-up turn. */
const TURN_MS = 100;

/**
 * Warms up in short turns, like the measurement. A warm contender keeps taking short turns until all are warm: after pauses
 * of more than four seconds, fast clients with their own servers became slower; after two seconds they did not.
 */
export async function warmUp(runs: readonly Run[], effort: Effort): Promise<void> {
  const { warmMs, warmRuns = WARM_RUNS, measureMs, moments } = effort;
  const counts = runs.map(() => 0);
  let spentMs = 0; // on each function
  for (;;) {
    const isWarm = spentMs >= warmMs && (Math.min(...counts) >= warmRuns || spentMs >= 2 * warmMs);
    if (await waitForTurn(isWarm)) return;
    const milliseconds = isWarm ? measureMs / moments : Math.min(TURN_MS, warmMs);
    const begun = performance.now();
    for (const [index, run] of runs.entries())
      counts[index] = (counts[index] ?? 0) + (await repeatFor(milliseconds, run));
    spentMs += (performance.now() - begun) / runs.length;
  }
}

/** Measures in parts, with turns of other contenders in between. */
export async function inParts(
  { measureMs, moments }: Effort,
  measure: (milliseconds: number) => Promise<void>,
): Promise<void> {
  for (let count = 0; count < moments; count++) {
    await waitForTurn();
    await measure(measureMs / moments);
  }
}

async function measurePart(run: Run, milliseconds: number): Promise<Timing> {
  const cpuBefore = process.cpuUsage();
  const begun = performance.now();
  const runs = await repeatFor(milliseconds, run);
  const wall = (performance.now() - begun) * 1_000;
  const { user, system } = process.cpuUsage(cpuBefore);
  return { cpu: (user + system) / runs, wall: wall / runs };
}

/** Runs at least once, and reads the clock at most a hundred times. */
export async function repeatFor(milliseconds: number, run: Run): Promise<number> {
  const begun = performance.now();
  let runs = 0;
  let batch = 1;
  for (;;) {
    const batchBegun = performance.now();
    for (let count = 0; count < batch; count++) await run();
    runs += batch;
    const now = performance.now();
    if (now - begun >= milliseconds) return runs;
    if (now - batchBegun < milliseconds / 100) batch *= 2;
  }
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}
