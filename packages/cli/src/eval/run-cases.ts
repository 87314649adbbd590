// Runs all cases with all variants, several at a time.
import { Semaphore } from '@pocket-agent/kit';
import type { EvalCase } from './eval-file.ts';
import { type CaseOptions, type CaseRun, runCase } from './run-case.ts';
import type { Variant } from './variants.ts';

export interface CasesOptions extends CaseOptions {
  /** How many runs there are at a time. */
  parallel: number;
  onRun(run: CaseRun, done: number, total: number): void;
}

/** In the order of cases, variants and repetitions. The first error of the setup ends the others. */
export async function runCases(
  variants: readonly Variant[],
  cases: readonly EvalCase[],
  { parallel, onRun, ...options }: CasesOptions,
): Promise<CaseRun[]> {
  const failed = new AbortController();
  const signal = AbortSignal.any([options.signal, failed.signal]);
  const slots = new Semaphore(parallel);
  const runs = cases.flatMap((evalCase) =>
    variants.flatMap((variant) =>
      Array.from({ length: evalCase.repeats }, (_, index) => ({
        variant,
        evalCase: { ...evalCase, repeat: index + 1 },
      })),
    ),
  );
  let done = 0;
  const results = runs.map(async ({ variant, evalCase }) => {
    const release = await slots.acquire(signal);
    try {
      const run = await runCase(variant, evalCase, { ...options, signal });
      onRun(run, ++done, runs.length);
      return run;
    } catch (error) {
      failed.abort(error);
      throw error;
    } finally {
      release();
    }
  });
  // agents of other runs are closed before the error is reported
  await Promise.allSettled(results);
  return Promise.all(results);
}
