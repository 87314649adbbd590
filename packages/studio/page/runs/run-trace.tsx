// The trace of a run: its figures, a waterfall, and what the selected row was.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { counted, dollars, duration } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import type { RunState, State } from '../state/model.ts';
import { traceRows, usageOf } from '../state/trace.ts';
import { RowDetails } from './row-details.tsx';
import { Waterfall } from './waterfall.tsx';

interface RunTraceProps {
  run: RunState;
  /** The key of a row. */
  selected: string | undefined;
  onSelect(key: string): void;
  /** Replaces the state of the page, for runs that are not in it, such as durable runs. */
  from?: Pick<State, 'runs' | 'answers'>;
}

export function RunTrace({ run, selected, onSelect, from }: RunTraceProps): VNode {
  const known = useKnown();
  const { questions } = known;
  const { runs, answers } = from ?? known;
  const rows = useMemo(() => traceRows(run, { runs, questions, answers }), [run, runs, questions, answers]);
  const usage = useMemo(() => usageOf(run, { runs }), [run, runs]);
  const row = rows.find(({ key }) => key === selected);
  const isWaiting = rows.some(({ kind, end }) => kind === 'wait' && end === undefined);
  const state = isWaiting ? 'waiting for an answer' : 'running';
  const time = run.endedAt === undefined ? state : duration(run.endedAt - run.startedAt);
  // the tokens of a step are known when it ends
  const isCounted = run.endedAt !== undefined || usage.inputTokens + usage.outputTokens > 0;
  return (
    <div class="trace">
      <p class="figures">
        <strong>{time}</strong> · {counted(usage.modelCalls, 'model call')} · {counted(usage.toolCalls, 'tool call')}
        {isCounted && ` · ${tokensAndCost(usage)}`}
      </p>
      {run.error && <p class="problem">{run.error}</p>}
      <Waterfall rows={rows} selected={selected} onSelect={onSelect} />
      {row && <RowDetails key={row.key} row={row} />}
    </div>
  );
}

function tokensAndCost({ inputTokens, cachedInputTokens, outputTokens, costUsd }: ReturnType<typeof usageOf>): string {
  const cached = cachedInputTokens > 0 ? ` (${cachedInputTokens.toLocaleString('en')} from the cache)` : '';
  return `${inputTokens.toLocaleString('en')} → ${outputTokens.toLocaleString('en')} tokens${cached} · ${dollars(costUsd)}`;
}
