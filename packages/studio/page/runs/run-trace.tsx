// The trace of a run: its figures, a waterfall, and what the selected row was.
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { counted, dollars, duration } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import type { RunState } from '../state/model.ts';
import { traceRows, usageOf } from '../state/trace.ts';
import { RowDetails } from './row-details.tsx';
import { Waterfall } from './waterfall.tsx';

interface RunTraceProps {
  run: RunState;
  /** Set for a trace that has an address of its own. */
  address?: { selected: string | undefined; onSelect(key: string): void };
}

export function RunTrace({ run, address }: RunTraceProps): VNode {
  const { runs, questions } = useKnown();
  const [picked, setPicked] = useState<string>();
  const selected = address ? address.selected : picked;
  const rows = useMemo(() => traceRows(run, { runs, questions }), [run, runs, questions]);
  const usage = useMemo(() => usageOf(run, { runs }), [run, runs]);
  const row = rows.find(({ key }) => key === selected);
  const time = run.endedAt === undefined ? 'running' : duration(run.endedAt - run.startedAt);
  return (
    <div class="trace">
      <p class="figures">
        <strong>{time}</strong> · {counted(usage.modelCalls, 'model call')} · {counted(usage.toolCalls, 'tool call')} ·{' '}
        {usage.inputTokens.toLocaleString('en')} → {usage.outputTokens.toLocaleString('en')} tokens
        {usage.cachedInputTokens > 0 && ` (${usage.cachedInputTokens.toLocaleString('en')} from the cache)`} ·{' '}
        {dollars(usage.costUsd)}
      </p>
      {run.error && <p class="problem">{run.error}</p>}
      <Waterfall rows={rows} selected={selected} onSelect={address?.onSelect ?? setPicked} />
      {row && <RowDetails key={row.key} row={row} />}
    </div>
  );
}
