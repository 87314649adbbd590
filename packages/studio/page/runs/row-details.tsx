// What a row of the trace was: a request to the model as it was sent, or a tool call.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ModelCallDetails } from '../../src/wire/wire.ts';
import { useAction, useConnection } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';
import { ToolResultView } from '../parts/tool-result-view.tsx';
import type { Row } from '../state/trace.ts';
import { Prompt } from './prompt.tsx';
import { ReplayForm } from './replay.tsx';

export function RowDetails({ row }: { row: Row }): VNode {
  const { kind, tool, call, step, run } = row;
  return (
    <section class="details" aria-label={`Details of ${row.label}`}>
      <h3>{row.label}</h3>
      {row.note && kind !== 'tool' && <p class={row.isFailed ? 'problem' : 'soft'}>{row.note}</p>}
      {kind === 'run' && <p>{run.input}</p>}
      {kind === 'model' &&
        step?.retries.map((reason) => (
          <p key={reason} class="note">
            Tried again: {reason}
          </p>
        ))}
      {kind === 'model' && call && (
        <ModelCall id={call.id} isDone={call.endedAt !== undefined} tokens={step?.inputTokens} />
      )}
      {kind === 'model' && !call && (
        <p class="note">The studio keeps the requests of the agents it opened, not those of sub-agents.</p>
      )}
      {tool && (
        <>
          <p class="soft">{[tool.capability, tool.decision, tool.reason].filter(Boolean).join(' · ')}</p>
          <h4>Arguments</h4>
          <JsonTree value={tool.arguments} />
          <ToolResultView tool={tool} />
        </>
      )}
    </section>
  );
}

const parts = ['prompt', 'tools', 'answer', 'settings', 'ask again'] as const;

interface ModelCallProps {
  id: string;
  isDone: boolean;
  /** Of the prompt. */
  tokens: number | undefined;
}

function ModelCall({ id, isDone, tokens }: ModelCallProps): VNode {
  const connection = useConnection();
  const { error, act } = useAction();
  const [details, setDetails] = useState<ModelCallDetails>();
  const [part, setPart] = useState<(typeof parts)[number]>('prompt');
  useEffect(
    () => act(async () => setDetails(await connection.get<ModelCallDetails>(`/calls/${id}`))),
    [act, connection, id, isDone],
  );
  if (error) return <p class="problem">{error}</p>;
  if (!details) return <p class="note">Loading…</p>;
  return (
    <>
      <div class="tabs" role="tablist">
        {parts.map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === part} onClick={() => setPart(name)}>
            {name}
          </button>
        ))}
      </div>
      <Part part={part} call={details} tokens={tokens} />
    </>
  );
}

interface PartProps {
  part: (typeof parts)[number];
  call: ModelCallDetails;
  tokens: number | undefined;
}

function Part({ part, call, tokens }: PartProps): VNode {
  if (part === 'prompt') return <Prompt prompt={call.prompt} tokens={tokens} />;
  if (part === 'ask again') return <ReplayForm call={call} />;
  return <JsonTree key={part} value={call[part]} />;
}
