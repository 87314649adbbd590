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
    <section class="page cost">
      <h1>Cost and limits</h1>
      {runs.size === 0 && <p class="empty">No agent has run yet. What each run uses is added up here.</p>}
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
                  <th class="number">Calls</th>
                  <th class="number">Failed</th>
                  <th class="number">Median time</th>
                  <th class="number minor">Longest</th>
                </tr>
              </thead>
              <tbody>
                {tools.map((each) => (
                  <tr key={each.name}>
                    <td>{each.name}</td>
                    <td class="number">{each.calls}</td>
                    <td class="number">{each.failed}</td>
                    <td class="number">{duration(each.medianMs)}</td>
                    <td class="number minor">{duration(each.longestMs)}</td>
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
              <th class="number minor">Runs</th>
              <th class="number minor">Model calls</th>
              <th class="number">Tokens in</th>
              <th class="number minor">Cached</th>
              <th class="number">Tokens out</th>
              <th class="number">Cost</th>
            </tr>
          </thead>
          <tbody>
            {rows.map((each) => (
              <tr key={each.name}>
                <td>{each.name}</td>
                <td class="number minor">{each.runs}</td>
                <td class="number minor">{each.modelCalls}</td>
                <td class="number">{each.inputTokens.toLocaleString('en')}</td>
                <td class="number minor">{each.cachedInputTokens.toLocaleString('en')}</td>
                <td class="number">{each.outputTokens.toLocaleString('en')}</td>
                <td class="number">{dollars(each.costUsd)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </>
  );
}
