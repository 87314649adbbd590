// What an MCP server asks the person during a call: a form, or an address to visit.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { FormAnswer, FormQuestion } from '../../src/wire/wire.ts';
import { useAction, useConnection } from '../parts/hooks.ts';
import { fieldsOf, firstValues, readValues } from '../parts/schema-fields.ts';
import { SchemaForm } from '../parts/schema-form.tsx';

export function FormCard({ question: { id, server, message, schema, url } }: { question: FormQuestion }): VNode {
  const connection = useConnection();
  const { error, isBusy, act } = useAction();
  const fields = fieldsOf(schema);
  const [values, setValues] = useState(() => firstValues(fields));
  const send = (make: () => FormAnswer) => act(async () => connection.post(`/questions/${id}`, make()));
  const accept = (): FormAnswer => ({ action: 'accept', ...(url ? {} : { content: readValues(fields, values) }) });
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: j and k move between questions
    <section class="question" aria-label={`Question of ${server}`} data-item tabIndex={0}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          send(accept);
        }}
      >
        <p>
          <strong>{server}</strong> asks: {message}
        </p>
        {url !== undefined && (
          <p>
            {/^https?:/.test(url) ? (
              <a href={url} target="_blank" rel="noreferrer noopener">
                {url}
              </a>
            ) : (
              url
            )}
          </p>
        )}
        <SchemaForm id={id} fields={fields} values={values} onChange={setValues} />
        <div class="actions">
          <button type="submit" disabled={isBusy}>
            {url === undefined ? 'Send' : 'Done'}
          </button>
          <button type="button" class="stop" disabled={isBusy} onClick={() => send(() => ({ action: 'decline' }))}>
            Decline
          </button>
        </div>
        {error && (
          <p class="problem" role="alert">
            {error}
          </p>
        )}
      </form>
    </section>
  );
}
