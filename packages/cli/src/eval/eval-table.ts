// The results of an evaluation as a table: a row for each case, a column for each variant.
import { printable } from '@pocket-agent/kit';
import { columns, fitted } from '../terminal/text-width.ts';
import type { CaseRun } from './run-case.ts';

const MAX_NAME_COLUMNS = 40;
const MAX_ANSWER_LENGTH = 300;

export function evalTable(runs: readonly CaseRun[]): string[] {
  const variants = [...new Set(runs.map(({ variant }) => variant))];
  const cases = [...new Set(runs.map((run) => run.case))];
  const of = (variant: string, name?: string) =>
    runs.filter((run) => run.variant === variant && (name === undefined || run.case === name));
  return columns([
    ['case', ...variants.map(shortName)],
    ...cases.map((name) => [shortName(name), ...variants.map((variant) => cell(of(variant, name)))]),
    ['all', ...variants.map((variant) => cell(of(variant)))],
  ]).map((line) => line.trimEnd());
}

/** Every run that did not pass: which, why, and the answer. */
export function failureLines(runs: readonly CaseRun[]): string[] {
  return runs
    .filter(({ passed }) => !passed)
    .flatMap((run) => [
      '',
      `FAILED ${runTitle(run)}`,
      ...run.failures.map((failure) => `  ${printable(failure, 1_000)}`),
      ...(run.answer === undefined ? [] : [`  Answer: ${printable(run.answer, MAX_ANSWER_LENGTH)}`]),
    ]);
}

export function runTitle({ case: name, variant, repeat }: CaseRun): string {
  return printable(`${name} · ${variant} · run ${repeat}`, 200);
}

/** The sum; undefined if one is unknown. */
export function costOf(runs: readonly CaseRun[]): number | undefined {
  const costs = runs.flatMap(({ usage, grading }) => [usage.costUsd, ...(grading ? [grading.costUsd] : [])]);
  return costs.reduce((sum, cost) => (sum === undefined || cost === undefined ? undefined : sum + cost), 0);
}

/** `2/3 passed, 2.1 steps, 1.4 s, $0.0012`: averages of steps and seconds, the sum of the costs. */
function cell(runs: readonly CaseRun[]): string {
  const passed = runs.filter((run) => run.passed).length;
  const steps = average(runs.map(({ usage }) => usage.modelCalls));
  const seconds = average(runs.map(({ durationMs }) => durationMs / 1000));
  const cost = costOf(runs);
  const price = cost === undefined ? 'cost unknown' : `$${cost.toFixed(4)}`;
  return `${passed}/${runs.length} passed, ${steps.toFixed(1)} steps, ${seconds.toFixed(1)} s, ${price}`;
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / Math.max(1, numbers.length);
}

function shortName(name: string): string {
  return fitted(printable(name), MAX_NAME_COLUMNS);
}
