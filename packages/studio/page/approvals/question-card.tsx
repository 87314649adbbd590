// A tool call that waits for an answer: what will happen, who wants it, and the buttons.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { Answer, ApprovalQuestion } from '../../src/wire/wire.ts';
import { age, clock } from '../parts/format.ts';
import { useAction, useConnection, useNow } from '../parts/hooks.ts';
import { JsonTree } from '../parts/json-tree.tsx';

const effects = { read: 'reads', write: 'changes things', create: 'creates things', delete: 'may delete things' };

const SECOND_MS = 1_000;

export function QuestionCard({ question }: { question: ApprovalQuestion }): VNode {
  const { id, tool, server, capability, description, path, changed, askedAt } = question;
  const connection = useConnection();
  const { error, isBusy, act } = useAction();
  const [edited, setEdited] = useState<string>();
  const [isRemembered, setRemembered] = useState(false);
  const send = (answer: Answer) => act(() => connection.post(`/questions/${id}`, answer));
  const allow = () => {
    if (edited === undefined)
      return send({ allow: true, ...(isRemembered ? ({ remember: 'conversation' } as const) : {}) });
    act(async () => connection.post(`/questions/${id}`, { allow: readArguments(edited) }));
  };
  const [meant, setMeant] = useState<'a' | 'd'>();
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.target !== event.currentTarget) return; // typed into a field
    if (event.key === 'a' || event.key === 'd') setMeant(event.key);
    else if (event.key === 'Enter' && meant === 'a') allow();
    else if (event.key === 'Enter' && meant === 'd') send({ deny: '' });
    else setMeant(undefined);
  };
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a question is answered by keys while it has the focus
    <section class="question" aria-label={`Approval of ${tool}`} data-item tabIndex={0} onKeyDown={onKeyDown}>
      <p>
        <strong>{path.join(' › ')}</strong> wants to call <strong>{tool}</strong>
        {server !== undefined && ` of the server ${server}`}, which {effects[capability]}.{' '}
        <span class={`capability ${capability}`}>{capability}</span>
      </p>
      <Since time={askedAt} />
      {description && <p class="soft">{description}</p>}
      {changed && <p class="problem">The tool has changed since it was first seen.</p>}
      {edited === undefined ? (
        <JsonTree value={question.arguments} />
      ) : (
        <textarea
          aria-label="Arguments"
          spellcheck={false}
          rows={Math.min(16, edited.split('\n').length + 1)}
          value={edited}
          onInput={(event) => setEdited(event.currentTarget.value)}
        />
      )}
      {edited !== undefined && <Changes from={question.arguments} to={edited} />}
      <div class="actions">
        <button type="button" disabled={isBusy} onClick={allow}>
          {edited === undefined ? 'Allow' : 'Allow with these arguments'}
        </button>
        <button type="button" class="stop" disabled={isBusy} onClick={() => send({ deny: '' })}>
          Deny
        </button>
        <button
          type="button"
          class="quiet"
          onClick={() => setEdited(edited === undefined ? JSON.stringify(question.arguments, null, 2) : undefined)}
        >
          {edited === undefined ? 'Edit…' : 'Discard the edit'}
        </button>
        {edited === undefined && (
          <label class="check">
            <input
              type="checkbox"
              checked={isRemembered}
              onChange={(event) => setRemembered(event.currentTarget.checked)}
            />
            do not ask again for {tool} {placeOf(question)}
          </label>
        )}
      </div>
      {edited === undefined && isRemembered && (
        <p class="note">
          Then {path.at(-1)} may call {tool} with any arguments, {placeOf(question)}, until the tool changes.
        </p>
      )}
      {edited !== undefined && <p class="note">With other arguments, only this call is allowed.</p>}
      {meant && <p role="status">{meant === 'a' ? 'Enter allows the call.' : 'Enter denies the call.'}</p>}
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
    </section>
  );
}

/** How long an approval is remembered. */
function placeOf({ durableRun, gateway }: ApprovalQuestion): string {
  if (gateway !== undefined) return 'for this caller';
  return durableRun === undefined ? 'in this conversation' : 'while this worker runs it';
}

function Since({ time }: { time: number }): VNode {
  const now = useNow(SECOND_MS);
  return (
    <p class="note">
      waiting for {age(now - time)}, since {clock(time)}
    </p>
  );
}

/** The arguments that an edit changes; nothing while it is not JSON. */
function Changes({ from, to }: { from: Record<string, unknown>; to: string }): VNode | null {
  let edited: Record<string, unknown>;
  try {
    edited = readArguments(to);
  } catch {
    return null; // the button says what is wrong
  }
  const changed = [...new Set([...Object.keys(from), ...Object.keys(edited)])]
    .map((name) => ({ name, before: JSON.stringify(from[name]), after: JSON.stringify(edited[name]) }))
    .filter(({ before, after }) => before !== after);
  if (changed.length === 0) return <p class="note">No argument is changed yet.</p>;
  return (
    <ul class="plain changes" aria-label="Changed arguments">
      {changed.map(({ name, before, after }) => (
        <li key={name}>
          {name} {before !== undefined && <del>{before}</del>} {after !== undefined && <ins>{after}</ins>}
        </li>
      ))}
    </ul>
  );
}

function readArguments(text: string): Record<string, unknown> {
  const value: unknown = JSON.parse(text);
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value };
  throw new Error('The arguments must be a JSON object.');
}
