// Asks the model again, or another one, with the prompt as it is or changed. No tool is called, also none of the provider.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ModelCallDetails, Replay } from '../../src/wire/wire.ts';
import { duration } from '../parts/format.ts';
import { useAction, useConnection } from '../parts/hooks.ts';
import { JsonText, JsonTree } from '../parts/json-tree.tsx';

export function ReplayForm({ call }: { call: ModelCallDetails }): VNode {
  const connection = useConnection();
  const { error, isBusy, act } = useAction();
  const [model, setModel] = useState('');
  const [prompt, setPrompt] = useState<string>();
  const [answers, setAnswers] = useState<readonly Replay[]>([]);
  const ask = () =>
    act(async () => {
      const changed = prompt === undefined ? {} : { prompt: JSON.parse(prompt) };
      const answer = await connection.post<Replay>(`/calls/${encodeURIComponent(call.id)}/replay`, {
        model,
        ...changed,
      });
      setAnswers([answer, ...answers]);
    });
  return (
    <form
      class="replay"
      onSubmit={(event) => {
        event.preventDefault();
        ask();
      }}
    >
      <label>
        <span>Model</span>
        <input
          value={model}
          placeholder={`as before: ${call.model}`}
          spellcheck={false}
          onInput={(event) => setModel(event.currentTarget.value)}
        />
      </label>
      {prompt === undefined ? (
        <button type="button" class="quiet" onClick={() => setPrompt(JSON.stringify(call.prompt, null, 2))}>
          Change the prompt…
        </button>
      ) : (
        <textarea
          aria-label="Prompt"
          spellcheck={false}
          rows={14}
          value={prompt}
          onInput={(event) => setPrompt(event.currentTarget.value)}
        />
      )}
      <button type="submit" disabled={isBusy}>
        {isBusy ? 'Asking…' : 'Ask again'}
      </button>
      <p class="soft">
        Only the model is asked: no tool is called, those that the provider runs are left out, and the conversation
        stays as it is.
      </p>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {answers.map((answer, index) => (
        <section key={answers.length - index} aria-label={`Answer ${answers.length - index} of ${answer.model}`}>
          <h4>
            {answer.model} <span class="soft">{duration(answer.durationMs)}</span>
          </h4>
          <ModelAnswer answer={answer.answer} />
        </section>
      ))}
    </form>
  );
}

/** What the model said and would call; the rest below it. */
function ModelAnswer({ answer }: { answer: unknown }): VNode {
  const { content, ...rest } =
    typeof answer === 'object' && answer !== null ? { content: [], ...answer } : { content: [] };
  const parts: { type?: string; text?: string; toolName?: string; input?: unknown }[] = Array.isArray(content)
    ? content
    : [];
  return (
    <>
      {parts.map((part, index) => (
        <p key={index}>
          {part.text !== undefined && <JsonText text={part.text} />}
          {part.toolName !== undefined && (
            <>
              calls <strong>{part.toolName}</strong> <JsonText text={String(part.input)} />
            </>
          )}
        </p>
      ))}
      <JsonTree value={rest} />
    </>
  );
}
