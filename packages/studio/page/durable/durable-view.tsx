// Durable runs of other processes, and the journal of one of them.
import type { VNode } from 'preact';
import type { DurableList, DurableRunDetails } from '../../src/wire/wire.ts';
import { clock, dollars } from '../parts/format.ts';
import { address, useAction, useConnection, usePolled } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { Wide } from '../parts/wide.tsx';

export function DurableView({ runId }: { runId: string | undefined }): VNode {
  return runId ? <OneRun key={runId} id={runId} /> : <AllRuns />;
}

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
      {runs?.length === 0 && problems.length === 0 && <p class="empty">There is no run in this database yet.</p>}
      {runs !== undefined && runs.length > 0 && (
        <Wide label="Durable runs">
          <table>
            <thead>
              <tr>
                <th>Updated</th>
                <th>Agent</th>
                <th>Input</th>
                <th>Status</th>
                <th>Steps</th>
                <th>Cost</th>
              </tr>
            </thead>
            <tbody>
              {runs.map((run) => (
                <tr key={run.id}>
                  <td>{clock(run.updatedAt)}</td>
                  <td>{run.agent}</td>
                  <td class="cut">
                    <a href={address('durable', run.id)}>{run.input || run.id}</a>
                  </td>
                  <td class={run.status === 'failed' ? 'bad' : ''}>{run.status}</td>
                  <td>{run.steps}</td>
                  <td>{run.steps > 0 ? dollars(run.costUsd) : ''}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}

const ended = ['finished', 'failed', 'cancelled'];

function OneRun({ id }: { id: string }): VNode {
  const connection = useConnection();
  const path = `/durable/${encodeURIComponent(id)}`;
  const { value: run, error } = usePolled<DurableRunDetails>(path);
  const { error: refused, isBusy, act } = useAction();
  return (
    <section class="page">
      <p>
        <a href={address('durable')}>All durable runs</a>
      </p>
      <h1>{id}</h1>
      {(error || refused) && (
        <p class="problem" role="alert">
          {error || refused}
        </p>
      )}
      {run && (
        <>
          <p class="actions">
            <strong>{run.agent}</strong> {run.status}
            {!ended.includes(run.status) && (
              <button
                type="button"
                class="stop"
                disabled={isBusy}
                onClick={() => act(() => connection.post(`${path}/cancel`, {}))}
              >
                Cancel the run
              </button>
            )}
          </p>
          <ol class="plain tools" aria-label="Journal">
            {run.events.map(({ number, type, time, data }) => (
              <li key={number}>
                <details>
                  <summary>
                    {number} <strong>{type}</strong> <span class="soft">{clock(Date.parse(time))}</span>
                  </summary>
                  <JsonTree value={data} />
                </details>
              </li>
            ))}
          </ol>
        </>
      )}
    </section>
  );
}
