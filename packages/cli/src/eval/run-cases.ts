// Runs all cases with all variants, several at a time.
import type { EvalCase } from './eval-file.ts';
import { type CaseOptions, type CaseRun, runCase } from './run-case.ts';
import type { Variant } from './variants.ts';

export interface CasesOptions extends CaseOptions {
  /** The number of runs at the same time. */
  parallel: number;
  onRun(run: CaseRun, done: number): void;
}

export interface CompletedRuns {
  /** In the order of cases, variants and repetitions. */
  runs: readonly CaseRun[];
  /** Why runs are missing: the first error of the setup, or the reason of the signal. */
  ended?: { error: unknown };
}

interface PlannedRun {
  index: number;
  variant: Variant;
  evalCase: EvalCase & { repeat: number };
}

export function countRuns(variants: readonly Variant[], cases: readonly EvalCase[]): number {
  return variants.length * cases.reduce((sum, { repeats }) => sum + repeats, 0);
}

/** The first error of the setup ends all runs. */
export async function runCases(
  variants: readonly Variant[],
  cases: readonly EvalCase[],
  { parallel, onRun, ...options }: CasesOptions,
): Promise<CompletedRuns> {
  const stop = new AbortController();
  const signal = AbortSignal.any([options.signal, stop.signal]);
  const planned = plannedRuns(variants, cases);
  const runs = new Map<number, CaseRun>();
  let ended: CompletedRuns['ended'];
  const work = async () => {
    try {
      for (const { index, variant, evalCase } of planned) {
        signal.throwIfAborted();
        const run = await runCase(variant, evalCase, { ...options, signal });
        runs.set(index, run);
        onRun(run, runs.size);
      }
    } catch (error) {
      ended ??= { error };
      stop.abort(error);
    }
  };
  await Promise.all(Array.from({ length: Math.min(parallel, countRuns(variants, cases)) }, work));
  const inOrder = [...runs].sort(([one], [other]) => one - other).map(([, run]) => run);
  return { runs: inOrder, ...(ended ? { ended } : {}) };
}

function* plannedRuns(variants: readonly Variant[], cases: readonly EvalCase[]): Generator<PlannedRun> {
  let index = 0;
  for (const evalCase of cases) {
    for (const variant of variants) {
      for (let repeat = 1; repeat <= evalCase.repeats; repeat++)
        yield { index: index++, variant, evalCase: { ...evalCase, repeat } };
    }
  }
}
