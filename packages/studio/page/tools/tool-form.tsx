// Calls a tool as the model would: with the same rules, approval and audit.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChatInfo, ToolInfo } from '../../src/wire.ts';
import { ToolCallView } from '../chat/tool-call-view.tsx';
import { useAction, useConnection, useKnown } from '../parts/hooks.ts';

interface Field {
  name: string;
  type: string;
  description: string;
  choices: readonly string[] | undefined;
  isRequired: boolean;
}

export function ToolForm({ agent, tool }: { agent: string; tool: ToolInfo }): VNode {
  const connection = useConnection();
  const { runs, chats, questions, answers } = useKnown();
  const { error, isBusy, act } = useAction();
  const [values, setValues] = useState<Record<string, string>>({});
  const [chatId, setChatId] = useState<string>();
  const fields = fieldsOf(tool.inputSchema);
  const call = () =>
    act(async () => {
      const path = `/agents/${encodeURIComponent(agent)}/tools/${encodeURIComponent(tool.name)}`;
      const { id } = await connection.post<ChatInfo>(path, { arguments: readArguments(fields, values) });
      setChatId(id);
    });
  const chat = chatId === undefined ? undefined : chats.get(chatId);
  const called = chat?.lastRunId === undefined ? undefined : runs.get(chat.lastRunId)?.steps[0]?.tools[0];
  const question = [...questions.values()].find(({ toolCallId }) => toolCallId === called?.id);
  const problem = chat?.items.find((item) => item.kind === 'problem');
  return (
    <form
      class="tool-form"
      onSubmit={(event) => {
        event.preventDefault();
        call();
      }}
    >
      {fields.map((field) => (
        <label key={field.name} for={`field ${field.name}`}>
          <span>
            {field.name}
            {field.isRequired && ' *'} <span class="soft">{field.type}</span>
          </span>
          {field.choices ? (
            <select
              id={`field ${field.name}`}
              value={values[field.name] ?? ''}
              onChange={(event) => setValues({ ...values, [field.name]: event.currentTarget.value })}
            >
              <option value="" />
              {field.choices.map((choice) => (
                <option key={choice}>{choice}</option>
              ))}
            </select>
          ) : (
            <input
              id={`field ${field.name}`}
              value={values[field.name] ?? ''}
              spellcheck={false}
              onInput={(event) => setValues({ ...values, [field.name]: event.currentTarget.value })}
            />
          )}
          {field.description && <span class="soft">{field.description}</span>}
        </label>
      ))}
      <button type="submit" disabled={isBusy}>
        Call {tool.name}
      </button>
      {(error || problem) && (
        <p class="problem" role="alert">
          {error || problem?.text}
        </p>
      )}
      {called && <ToolCallView tool={called} question={question} answer={answers.get(called.id)} />}
    </form>
  );
}

function fieldsOf(schema: unknown): Field[] {
  const { properties, required } = asRecord(schema);
  return Object.entries(asRecord(properties)).map(([name, given]) => {
    const { type, description, enum: choices } = asRecord(given);
    return {
      name,
      type: typeof type === 'string' ? type : 'JSON',
      description: typeof description === 'string' ? description : '',
      choices: Array.isArray(choices) ? choices.map(String) : undefined,
      isRequired: Array.isArray(required) && required.includes(name),
    };
  });
}

/** Texts as they are, everything else as JSON. Empty fields are left out. */
function readArguments(fields: readonly Field[], values: Record<string, string>): Record<string, unknown> {
  const given = fields.filter(({ name }) => (values[name] ?? '') !== '');
  return Object.fromEntries(given.map(({ name, type }) => [name, readValue(name, type, values[name] ?? '')]));
}

function readValue(name: string, type: string, text: string): unknown {
  if (type === 'string') return text;
  try {
    return JSON.parse(text);
  } catch {
    if (type === 'JSON') return text;
    throw new Error(`${name} must be ${type === 'integer' ? 'a whole number' : `JSON of the type ${type}`}.`);
  }
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
