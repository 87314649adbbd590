// One durable run: its trace, which grows while the run does, and its journal.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { DurableRunDetails } from '../../src/wire/wire.ts';
import { clock } from '../parts/format.ts';
import { address, useAction, useConnection, usePolled } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { RunTrace } from '../runs/run-trace.tsx';
import { durableTrace } from '../state/durable-trace.ts';

const ended = ['finished', 'failed', 'cancelled'];

export function DurableRun({ id, selected }: { id: string; selected: string | undefined }): VNode {
  const connection = useConnection();
  const path = `/durable/${encodeURIComponent(id)}`;
  const { value: run, error } = usePolled<DurableRunDetails>(path);
  const { error: refused, isBusy, act } = useAction();
  const trace = useMemo(() => run && durableTrace(run), [run]);
  return (
    <section class="page wide-page">
      <p class="trail">
        <a href={address('durable')}>All durable runs</a>
      </p>
      <h1>{id}</h1>
      {(error || refused) && (
        <p class="problem" role="alert">
          {error || refused}
        </p>
      )}
      {run && (
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
      )}
      {trace && (
        <RunTrace
          run={trace.run}
          from={trace}
          selected={selected}
          onSelect={(key) => location.replace(address('durable', id, key))}
        />
      )}
      {run && (
        <>
          <h2>Journal</h2>
          <ol class="plain journal" aria-label="Journal">
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
