// What a row of the trace was: a request to the model as it was sent, a tool call, or a wait.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ModelCallDetails } from '../../src/wire/wire.ts';
import { useAction, useConnection } from '../parts/hooks.ts';
import { JsonText, JsonTree } from '../parts/json-tree.tsx';
import { ToolResultView } from '../parts/tool-result-view.tsx';
import type { Row } from '../state/trace.ts';
import { Prompt } from './prompt.tsx';
import { ReplayForm } from './replay.tsx';

export function RowDetails({ row }: { row: Row }): VNode {
  const { kind, tool, run, note } = row;
  return (
    <section class="details" aria-label={`Details of ${row.label}`}>
      <h3>{row.label}</h3>
      {note && kind !== 'tool' && <p class={row.isFailed ? 'problem' : 'soft'}>{note}</p>}
      {kind === 'run' && <p>{run.input}</p>}
      {kind === 'model' && <ModelRow row={row} />}
      {kind === 'tool' && tool && (
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

function ModelRow({ row: { call, step } }: { row: Row }): VNode {
  return (
    <>
      {step?.retries.map(({ at, reason }) => (
        <p key={at} class="note">
          Tried again: {reason}
        </p>
      ))}
      {call && <ModelCall id={call.id} isDone={call.endedAt !== undefined} tokens={step?.inputTokens} />}
      {!call && step?.answer && <JsonText text={step.answer} />}
      {!call && (
        <p class="note">
          {step?.answer === undefined
            ? 'This program does not tell studios what it sends to models.'
            : 'The journal of a durable run keeps answers, not requests.'}
        </p>
      )}
    </>
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
    () => act(async () => setDetails(await connection.get<ModelCallDetails>(`/calls/${encodeURIComponent(id)}`))),
    [act, connection, id, isDone],
  );
  if (error)
    return (
      <p class="problem" role="alert">
        {error}
      </p>
    );
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
      <Part part={part} call={{ ...details, id }} tokens={tokens} />
    </>
  );
}

interface PartProps {
  part: (typeof parts)[number];
  call: ModelCallDetails;
  tokens: number | undefined;
}

function Part({ part, call, tokens }: PartProps): VNode {
  if (part === 'prompt') return <Prompt call={call} tokens={tokens} />;
  if (part === 'ask again') return <ReplayForm call={call} />;
  return <JsonTree key={part} value={call[part]} />;
}
