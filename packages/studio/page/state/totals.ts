// Sums over all runs that the page knows.
import type { ToolInfo } from '../../src/wire/wire.ts';
import type { RunState, State, ToolState } from './model.ts';

type NameOf = (run: RunState) => string;

export const byAgent: NameOf = ({ agentName }) => agentName;

/** The day on which it began, here. */
export const byDay: NameOf = ({ startedAt }) =>
  new Date(startedAt).toLocaleDateString([], { year: 'numeric', month: 'short', day: 'numeric' });

/** The model that answered last. */
export const byModel: NameOf = ({ steps }) => steps.flatMap(({ calls }) => calls).at(-1)?.model ?? 'not known';

export function costBy(runs: Iterable<RunState>, nameOf: NameOf) {
  return [...Map.groupBy(runs, nameOf)].map(([name, own]) => {
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
  return [...Map.groupBy(callsIn(runs), ({ name }) => name)]
    .map(([name, own]) => ({ name, ...figures(own) }))
    .sort((a, b) => b.calls - a.calls);
}

/** The most that single runs of an agent of the studio have used, each kind by itself. Runs of sub-agents count for the run above. */
export function largestRun({ runs, chats }: Pick<State, 'runs' | 'chats'>, agent: string) {
  const children = Map.groupBy(runs.values(), ({ parentRunId }) => parentRunId);
  const within = (run: RunState): RunState[] => [run, ...(children.get(run.id) ?? []).flatMap(within)];
  const agentOf = ({ chatId, agentName }: RunState) => chats.get(chatId)?.info.agent ?? agentName;
  const own = [...runs.values()].filter((run) => run.parentRunId === undefined && agentOf(run) === agent);
  const used = own.map((run) => {
    const [total] = costBy(within(run), () => '');
    const toolCalls = callsIn(within(run)).length;
    return { tokens: (total?.inputTokens ?? 0) + (total?.outputTokens ?? 0), costUsd: total?.costUsd ?? 0, toolCalls };
  });
  const most = (key: 'tokens' | 'costUsd' | 'toolCalls') => Math.max(0, ...used.map((each) => each[key]));
  return { tokens: most('tokens'), costUsd: most('costUsd'), toolCalls: most('toolCalls') };
}

/** The calls of tools that are from a server. */
export function callsByServer(runs: Iterable<RunState>, tools: readonly ToolInfo[], server: string) {
  const own = new Set(tools.flatMap(({ name, group }) => (group === server ? [name] : [])));
  return figures(callsIn(runs).filter(({ name }) => own.has(name)));
}

function callsIn(runs: Iterable<RunState>): ToolState[] {
  return [...runs].flatMap((run) => run.steps.flatMap((step) => step.tools));
}

function figures(calls: readonly ToolState[]) {
  const times = calls.flatMap(({ startedAt, endedAt }) => (endedAt === undefined ? [] : [endedAt - startedAt]));
  times.sort((a, b) => a - b);
  return {
    calls: calls.length,
    failed: calls.filter(({ isError }) => isError).length,
    medianMs: times[Math.floor(times.length / 2)] ?? 0,
    longestMs: times.at(-1) ?? 0,
  };
}
