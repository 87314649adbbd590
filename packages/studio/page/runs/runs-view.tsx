// The runs since the studio was started, and the trace of one of them.
import type { VNode } from 'preact';
import { clock, dollars, duration } from '../parts/format.ts';
import { address, useKnown } from '../parts/hooks.ts';
import { rootRuns, usageOf } from '../state/trace.ts';
import { RunTrace } from './run-trace.tsx';

const SHOWN = 200;

export function RunsView({ runId, selected }: { runId: string | undefined; selected: string | undefined }): VNode {
  const known = useKnown();
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
      {runs.length > 0 && (
        <div class="wide">
          <table>
            <thead>
              <tr>
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
        </div>
      )}
    </section>
  );
}
