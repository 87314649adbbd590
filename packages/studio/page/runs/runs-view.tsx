// The runs since the studio was started, and the trace of one of them.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import { clock, dollars, duration } from '../parts/format.ts';
import { address, useKnown } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import { rootRuns, usageOf } from '../state/trace.ts';
import { CompareView } from './compare-view.tsx';
import { RunTrace } from './run-trace.tsx';

const SHOWN = 200;

export function RunsView({ runId, selected }: { runId: string | undefined; selected: string | undefined }): VNode {
  const known = useKnown();
  const [marked, setMarked] = useState<readonly string[]>([]);
  if (runId === 'compare' && selected) return <CompareView ids={selected.split(' ')} />;
  const run = runId ? known.runs.get(runId) : undefined;
  if (run)
    return (
      <section class="page wide-page">
        <p>
          <a href={address('runs')}>All runs</a> · <a href={address('chat', run.chatId)}>Conversation</a>
        </p>
        <RunTrace run={run} address={{ selected, onSelect: (key) => location.replace(address('runs', run.id, key)) }} />
      </section>
    );
  const runs = rootRuns(known);
  return (
    <section class="page">
      <h1>Runs</h1>
      {runId && <p class="problem">This run is no longer kept.</p>}
      {runs.length === 0 && <p class="empty">No agent has run yet. Send a message in Chat.</p>}
      {marked.length > 0 && (
        <p class="actions">
          {marked.length === 2 ? (
            <a href={address('runs', 'compare', marked.join(' '))}>Compare the two runs</a>
          ) : (
            <span class="soft">Mark a second run to compare them.</span>
          )}
        </p>
      )}
      {runs.length > 0 && (
        <Wide label="Runs">
          <table>
            <thead>
              <tr>
                <th>
                  <span class="hidden">Compare</span>
                </th>
                <th>Started</th>
                <th>Agent</th>
                <th>Input</th>
                <th>Time</th>
                <th>Tokens</th>
                <th>Cost</th>
              </tr>
            </thead>
            <tbody>
              {runs.slice(0, SHOWN).map((each) => {
                const usage = usageOf(each, known);
                return (
                  <tr key={each.id}>
                    <td>
                      <input
                        type="checkbox"
                        aria-label={`Compare the run ${each.input || 'run'}`}
                        checked={marked.includes(each.id)}
                        onChange={({ currentTarget: { checked } }) => {
                          const others = marked.filter((id) => id !== each.id);
                          setMarked(checked ? [...others, each.id].slice(-2) : others);
                        }}
                      />
                    </td>
                    <td>{clock(each.startedAt)}</td>
                    <td>{each.agentName}</td>
                    <td class="cut">
                      <a href={address('runs', each.id)}>{each.input || 'run'}</a>
                      {each.error !== undefined && <span class="bad"> {each.error}</span>}
                    </td>
                    <td>{each.endedAt === undefined ? 'running' : duration(each.endedAt - each.startedAt)}</td>
                    <td>{(usage.inputTokens + usage.outputTokens).toLocaleString('en')}</td>
                    <td>{dollars(usage.costUsd)}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}
