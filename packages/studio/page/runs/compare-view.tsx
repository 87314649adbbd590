// Two runs side by side, step by step.
import type { VNode } from 'preact';
import { counted, dollars, duration } from '../parts/format.ts';
import { address, useKnown } from '../parts/hooks.ts';
import { Wide } from '../parts/wide.tsx';
import type { RunState, StepState } from '../state/model.ts';
import { answeringCall, modelKey, modelName, toolKey, usageOf } from '../state/trace.ts';

export function CompareView({ ids }: { ids: readonly string[] }): VNode {
  const known = useKnown();
  const found = ids.flatMap((id) => known.runs.get(id) ?? []);
  const runs = found.sort((a, b) => a.startedAt - b.startedAt);
  if (runs.length < 2) return <p class="problem">One of these runs is no longer kept.</p>;
  const steps = Math.max(...runs.map((run) => run.steps.length));
  return (
    <section class="page wide-page">
      <p class="trail">
        <a href={address('runs')}>All runs</a>
      </p>
      <h1>Two runs</h1>
      <Wide label="Two runs">
        <table class="compare">
          <thead>
            <tr>
              <th>Step</th>
              {runs.map((run) => (
                <th key={run.id}>
                  <a href={address('runs', run.id)}>{run.input || run.agentName}</a>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <tr>
              <th>all</th>
              {runs.map((run) => (
                <Whole key={run.id} run={run} />
              ))}
            </tr>
            {Array.from({ length: steps }, (_, index) => (
              <tr key={index}>
                <th>{index + 1}</th>
                {runs.map((run) => (
                  <Step key={run.id} run={run} step={run.steps[index]} />
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  );
}

function Whole({ run }: { run: RunState }): VNode {
  const known = useKnown();
  const { inputTokens, outputTokens, costUsd, modelCalls, toolCalls } = usageOf(run, known);
  return (
    <td>
      <strong>{run.endedAt === undefined ? 'running' : duration(run.endedAt - run.startedAt)}</strong> ·{' '}
      {counted(modelCalls, 'model call')} · {counted(toolCalls, 'tool call')} · {inputTokens.toLocaleString('en')} →{' '}
      {outputTokens.toLocaleString('en')} tokens · {dollars(costUsd)}
      {run.error !== undefined && <p class="bad">{run.error}</p>}
    </td>
  );
}

interface StepProps {
  run: RunState;
  step: StepState | undefined;
}

function Step({ run, step }: StepProps): VNode {
  if (!step) return <td class="soft">–</td>;
  const time = step.endedAt === undefined ? '…' : duration(step.endedAt - step.startedAt);
  return (
    <td>
      <a href={address('runs', run.id, modelKey(run, step))}>{modelName(answeringCall(step))}</a> {time}
      {step.inputTokens !== undefined && (
        <span class="soft">
          {' '}
          {step.inputTokens.toLocaleString('en')} → {step.outputTokens}
        </span>
      )}
      <ul class="plain">
        {step.tools.map((tool) => (
          <li key={tool.id}>
            <a href={address('runs', run.id, toolKey(run, step, tool))}>{tool.name}</a>{' '}
            <span class={tool.isError ? 'bad' : 'good'}>{tool.isError ? 'failed' : '✓'}</span>{' '}
            <span class="soft">{JSON.stringify(tool.arguments)}</span>
          </li>
        ))}
      </ul>
    </td>
  );
}
