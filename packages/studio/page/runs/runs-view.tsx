// The runs since the studio was started, and the trace of one of them.
import type { VNode } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { clock, dollars, duration } from '../parts/format.ts';
import { address, useKnown } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import type { RunState } from '../state/model.ts';
import { rootRuns, usageOf } from '../state/trace.ts';
import { CompareView } from './compare-view.tsx';
import { RunTrace } from './run-trace.tsx';

const SHOWN = 200;

export function RunsView({ runId, selected }: { runId: string | undefined; selected: string | undefined }): VNode {
  const { runs } = useKnown();
  if (runId === 'compare' && selected) return <CompareView ids={selected.split(' ')} />;
  const run = runId === undefined ? undefined : runs.get(runId);
  if (!run) return <AllRuns isGone={runId !== undefined} />;
  return (
    <section class="page wide-page">
      <p class="trail">
        <a href={address('runs')}>All runs</a>
        <a href={address('chat', run.chatId)}>Conversation</a>
      </p>
      <h1 class="cut">{run.input || run.agentName}</h1>
      <RunTrace run={run} selected={selected} onSelect={(key) => location.replace(address('runs', run.id, key))} />
    </section>
  );
}

/** `isGone`: the address names a run that the page does not know. */
function AllRuns({ isGone }: { isGone: boolean }): VNode {
  const { runs: known, connection } = useKnown();
  const [marked, setMarked] = useState<readonly string[]>([]);
  const runs = useMemo(() => {
    const latest = rootRuns({ runs: known }).slice(0, SHOWN);
    return latest.map((run) => ({ run, usage: usageOf(run, { runs: known }) }));
  }, [known]);
  const mark = (id: string, isMarked: boolean) => {
    const others = marked.filter((other) => other !== id);
    setMarked(isMarked ? [...others, id].slice(-2) : others);
  };
  return (
    <section class="page">
      <h1>Runs</h1>
      {isGone && connection === 'live' && <p class="problem">This run is no longer kept.</p>}
      {runs.length === 0 && (
        <p class="empty">
          <span>
            No agent has run yet. <a href={address('chat')}>Send a message</a>, and each step, tool call and token of
            the answer is shown here.
          </span>
        </p>
      )}
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
                <th>Input</th>
                <th class="minor">Agent</th>
                <th class="minor">Started</th>
                <th class="number">Time</th>
                <th class="number minor">Tokens</th>
                <th class="number">Cost</th>
              </tr>
            </thead>
            <tbody data-list>
              {runs.map(({ run, usage }) => (
                <RunRow key={run.id} run={run} usage={usage} isMarked={marked.includes(run.id)} onMark={mark} />
              ))}
            </tbody>
          </table>
        </Wide>
      )}
    </section>
  );
}

interface RunRowProps {
  run: RunState;
  usage: ReturnType<typeof usageOf>;
  isMarked: boolean;
  onMark(id: string, isMarked: boolean): void;
}

function RunRow({ run, usage: { inputTokens, outputTokens, costUsd }, isMarked, onMark }: RunRowProps): VNode {
  const { id, agentName, input, startedAt, endedAt, error } = run;
  return (
    <tr>
      <td>
        <input
          type="checkbox"
          aria-label={`Compare the run ${input || 'run'}`}
          checked={isMarked}
          onChange={(event) => onMark(id, event.currentTarget.checked)}
        />
      </td>
      <td class="cut">
        <a data-item href={address('runs', id)}>
          {input || 'run'}
        </a>
        {error !== undefined && <span class="bad"> {error}</span>}
      </td>
      <td class="minor">{agentName}</td>
      <td class="minor">{clock(startedAt)}</td>
      <td class="number">{endedAt === undefined ? 'running' : duration(endedAt - startedAt)}</td>
      <td class="number minor">{(inputTokens + outputTokens).toLocaleString('en')}</td>
      <td class="number">{dollars(costUsd)}</td>
    </tr>
  );
}
