// Tokens and dollars since the studio was started, by agent, model, day and tool; budgets of runs, and routers.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { dollars, duration } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import { byAgent, byDay, byModel, costBy, timeByTool } from '../state/totals.ts';
import { Budgets } from './budgets.tsx';
import { Routers } from './routers.tsx';

export function CostView(): VNode {
  const { runs, hasRouters } = useKnown();
  const tools = useMemo(() => timeByTool(runs.values()), [runs]);
  return (
    <section class="page">
      <h1>Cost and limits</h1>
      {runs.size === 0 && <p class="empty">No agent has run yet.</p>}
      {groups.map(([title, name, nameOf]) => (
        <CostTable key={title} title={title} name={name} rows={costBy(runs.values(), nameOf)} />
      ))}
      {tools.length > 0 && (
        <>
          <h2>Tools</h2>
          <Wide label="Times of tools">
            <table>
              <thead>
                <tr>
                  <th>Tool</th>
                  <th>Calls</th>
                  <th>Failed</th>
                  <th>Median time</th>
                  <th>Longest</th>
                </tr>
              </thead>
              <tbody>
                {tools.map((each) => (
                  <tr key={each.name}>
                    <td>{each.name}</td>
                    <td>{each.calls}</td>
                    <td>{each.failed}</td>
                    <td>{duration(each.medianMs)}</td>
                    <td>{duration(each.longestMs)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </Wide>
        </>
      )}
      <Budgets />
      {hasRouters && <Routers />}
    </section>
  );
}

const groups = [
  ['By agent', 'Agent', byAgent],
  ['By model', 'Model', byModel],
  ['By day', 'Day', byDay],
] as const;

interface CostTableProps {
  title: string;
  name: string;
  rows: ReturnType<typeof costBy>;
}

function CostTable({ title, name, rows }: CostTableProps): VNode | null {
  if (rows.length === 0) return null;
  return (
    <>
      <h2>{title}</h2>
      <Wide label={title}>
        <table>
          <thead>
            <tr>
              <th>{name}</th>
              <th>Runs</th>
              <th>Model calls</th>
              <th>Tokens in</th>
              <th>from the cache</th>
              <th>Tokens out</th>
              <th>Cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => (
              <tr key={each.name}>
                <td>{each.name}</td>
                <td>{each.runs}</td>
                <td>{each.modelCalls}</td>
                <td>{each.inputTokens.toLocaleString('en')}</td>
                <td>{each.cachedInputTokens.toLocaleString('en')}</td>
                <td>{each.outputTokens.toLocaleString('en')}</td>
                <td>{dollars(each.costUsd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </>
  );
}
