// Durable runs of other processes.
import type { VNode } from 'preact';
import type { DurableList } from '../../src/wire/wire.ts';
import { clock, dollars } from '../parts/format.ts';
import { address, usePolled } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import { DurableRun } from './durable-run.tsx';

export function DurableView({ runId, selected }: { runId: string | undefined; selected: string | undefined }): VNode {
  return runId ? <DurableRun key={runId} id={runId} selected={selected} /> : <AllRuns />;
}

const example = `const runs = await openRuns({ url: 'sqlite:runs.db', agents });
await runs.start('support', 'Refund order 17');`;

function AllRuns(): VNode {
  const { value, error } = usePolled<DurableList>('/durable');
  const { runs, problems = [] } = value ?? {};
  return (
    <section class="page">
      <h1>Durable runs</h1>
      {[error, ...problems].filter(Boolean).map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      {runs?.length === 0 && problems.length === 0 && (
        <div class="empty">
          <p>There is no run in this database yet. Start one in a program, or a bot with --runs:</p>
          <pre>{example}</pre>
        </div>
      )}
      {runs !== undefined && runs.length > 0 && (
        <Wide label="Durable runs">
          <table>
            <thead>
              <tr>
                <th>Input</th>
                <th>Status</th>
                <th class="minor">Agent</th>
                <th class="minor">Updated</th>
                <th class="number minor">Steps</th>
                <th class="number">Cost</th>
              </tr>
            </thead>
            <tbody data-list>
              {runs.map((run) => (
                <tr key={run.id}>
                  <td class="cut">
                    <a data-item href={address('durable', run.id)}>
                      {run.input || run.id}
                    </a>
                  </td>
                  <td class={run.status === 'failed' ? 'bad' : ''}>{run.status}</td>
                  <td class="minor">{run.agent}</td>
                  <td class="minor">{clock(run.updatedAt)}</td>
                  <td class="number minor">{run.steps}</td>
                  <td class="number">{run.steps > 0 ? dollars(run.costUsd) : ''}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}
