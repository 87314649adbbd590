// Sums over all runs that the page knows.
import type { RunState } from './model.ts';

export function costByAgent(runs: Iterable<RunState>) {
  return [...Map.groupBy(runs, ({ agentName }) => agentName)].map(([name, own]) => {
    const steps = own.flatMap((run) => run.steps).filter(({ endedAt }) => endedAt !== undefined);
    const sum = (values: readonly (number | undefined)[]) => values.reduce<number>((a, b) => a + (b ?? 0), 0);
    const costs = steps.map(({ costUsd }) => costUsd);
    return {
      name,
      runs: own.length,
      modelCalls: steps.length,
      inputTokens: sum(steps.map(({ inputTokens }) => inputTokens)),
      cachedInputTokens: sum(steps.map(({ cachedInputTokens }) => cachedInputTokens)),
      outputTokens: sum(steps.map(({ outputTokens }) => outputTokens)),
      costUsd: costs.includes(undefined) ? undefined : sum(costs),
    };
  });
}

export function timeByTool(runs: Iterable<RunState>) {
  const calls = [...runs].flatMap((run) => run.steps.flatMap((step) => step.tools));
  return [...Map.groupBy(calls, ({ name }) => name)]
    .map(([name, own]) => {
      const times = own.flatMap(({ startedAt, endedAt }) => (endedAt === undefined ? [] : [endedAt - startedAt]));
      times.sort((a, b) => a - b);
      return {
        name,
        calls: own.length,
        failed: own.filter(({ isError }) => isError).length,
        medianMs: times[Math.floor(times.length / 2)] ?? 0,
        longestMs: times.at(-1) ?? 0,
      };
    })
    .sort((a, b) => b.calls - a.calls);
}
