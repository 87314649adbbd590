// Calls a tool as the model would: with the same rules, approval and audit.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChatInfo, ToolInfo } from '../../src/wire/wire.ts';
import { FormCard } from '../approvals/form-card.tsx';
import { ToolCallView } from '../chat/tool-call-view.tsx';
import { useAction, useConnection, useKnown } from '../parts/hooks.ts';
import { fieldsOf, firstValues, readValues } from '../parts/schema-fields.ts';
import { SchemaForm } from '../parts/schema-form.tsx';
import { approvals, callKey, formsOf } from '../state/questions.ts';

export function ToolForm({ agent, tool }: { agent: string; tool: ToolInfo }): VNode {
  const connection = useConnection();
  const { runs, chats, questions, answers } = useKnown();
  const { error, isBusy, act } = useAction();
  const fields = fieldsOf(tool.inputSchema);
  const [values, setValues] = useState(() => firstValues(fields));
  const [chatId, setChatId] = useState<string>();
  const call = () =>
    act(async () => {
      const path = `/agents/${encodeURIComponent(agent)}/tools/${encodeURIComponent(tool.name)}`;
      const { id } = await connection.post<ChatInfo>(path, { arguments: readValues(fields, values) });
      setChatId(id);
    });
  const chat = chatId === undefined ? undefined : chats.get(chatId);
  const run = chat?.lastRunId === undefined ? undefined : runs.get(chat.lastRunId);
  const called = run?.steps[0]?.tools[0];
  const key = run && called ? callKey(run.id, called.id) : '';
  const problem = chat?.items.find((item) => item.kind === 'problem');
  return (
    <>
      <form
        class="tool-form"
        onSubmit={(event) => {
          event.preventDefault();
          call();
        }}
      >
        <SchemaForm id={tool.name} fields={fields} values={values} onChange={setValues} />
        <button type="submit" disabled={isBusy}>
          Call {tool.name}
        </button>
        {(error || problem) && (
          <p class="problem" role="alert">
            {error || problem?.text}
          </p>
        )}
      </form>
      {called && (
        <ToolCallView tool={called} question={approvals(questions).get(key)} answer={answers.get(key)?.text} />
      )}
      {formsOf(questions, chatId).map((form) => (
        <FormCard key={form.id} question={form} />
      ))}
    </>
  );
}
