// Tokens and dollars since the studio was started, by agent and by tool.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { dollars, duration } from '../parts/format.ts';
import { useKnown } from '../parts/hooks.ts';
import { costByAgent, timeByTool } from '../state/totals.ts';

export function CostView(): VNode {
  const { runs } = useKnown();
  const agents = useMemo(() => costByAgent(runs.values()), [runs]);
  const tools = useMemo(() => timeByTool(runs.values()), [runs]);
  return (
    <section class="page">
      <h1>Cost</h1>
      {agents.length === 0 && <p class="empty">No agent has run yet.</p>}
      {agents.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
                <th>Agent</th>
                <th>Runs</th>
                <th>Model calls</th>
                <th>Tokens in</th>
                <th>from the cache</th>
                <th>Tokens out</th>
                <th>Cost</th>
              </tr>
            </thead>
            <tbody>
              {agents.map((each) => (
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
        </div>
      )}
      {tools.length > 0 && (
        <>
          <h2>Tools</h2>
          <div class="wide">
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
          </div>
        </>
      )}
    </section>
  );
}
