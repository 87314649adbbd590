// Resources and prompts of the servers of an agent.
import type { VNode } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { ServerOffers } from '../../src/wire/wire.ts';
import { useAction, useConnection } from '../parts/hooks.ts';
import { JsonText, JsonTree } from '../parts/json-tree.tsx';
import { fieldsOf, readValues, type Values } from '../parts/schema-fields.ts';
import { SchemaForm } from '../parts/schema-form.tsx';

export function Offers({ agent }: { agent: string }): VNode | null {
  const connection = useConnection();
  const { error, act } = useAction();
  const [offers, setOffers] = useState<ServerOffers>();
  const path = `/agents/${encodeURIComponent(agent)}`;
  useEffect(
    () => act(async () => setOffers(await connection.get<ServerOffers>(`${path}/offers`))),
    [act, connection, path],
  );
  if (error) return <p class="problem">{error}</p>;
  if (!offers) return null;
  const { resources, prompts, problems } = offers;
  return (
    <>
      {problems.map((problem) => (
        <p key={problem} class="problem">
          {problem}
        </p>
      ))}
      {resources.length > 0 && (
        <>
          <h2>Resources</h2>
          <ul class="plain tools">
            {resources.map(({ server, uri, name, description }) => (
              <Offer key={`${server} ${uri}`} name={name} of={server} description={description ?? uri}>
                <Result label="Read" ask={() => connection.post(`${path}/resource`, { server, uri })} />
              </Offer>
            ))}
          </ul>
        </>
      )}
      {prompts.length > 0 && (
        <>
          <h2>Prompts</h2>
          <ul class="plain tools">
            {prompts.map((prompt) => (
              <Offer
                key={`${prompt.server} ${prompt.name}`}
                name={prompt.name}
                of={prompt.server}
                description={prompt.description}
              >
                <PromptForm prompt={prompt} path={path} />
              </Offer>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

interface OfferProps {
  name: string;
  of: string;
  description: string | undefined;
  children: VNode;
}

function Offer({ name, of, description, children }: OfferProps): VNode {
  return (
    <li>
      <details>
        <summary>
          {name} <span class="soft">{of}</span>
        </summary>
        {description && <p class="soft">{description}</p>}
        {children}
      </details>
    </li>
  );
}

function PromptForm({ prompt, path }: { prompt: ServerOffers['prompts'][number]; path: string }): VNode {
  const connection = useConnection();
  const [values, setValues] = useState<Values>({});
  const properties = Object.fromEntries(
    prompt.arguments.map(({ name, description }) => [name, { type: 'string', description }]),
  );
  const required = prompt.arguments.flatMap(({ name, required: isRequired }) => (isRequired ? [name] : []));
  const fields = fieldsOf({ properties, required });
  const ask = async () => {
    const { server, name } = prompt;
    return connection.post(`${path}/prompt`, { server, prompt: name, arguments: readValues(fields, values) });
  };
  return (
    <div class="tool-form">
      <SchemaForm id={`prompt ${prompt.server} ${prompt.name}`} fields={fields} values={values} onChange={setValues} />
      <Result label="Get" ask={ask} />
    </div>
  );
}

function Result({ label, ask }: { label: string; ask(): Promise<unknown> }): VNode {
  const { error, isBusy, act } = useAction();
  const [result, setResult] = useState<unknown>();
  const texts = textsIn(result);
  return (
    <>
      <button type="button" disabled={isBusy} onClick={() => act(async () => setResult(await ask()))}>
        {label}
      </button>
      {error && (
        <p class="problem" role="alert">
          {error}
        </p>
      )}
      {texts.map((text, index) => (
        <p key={index}>
          <JsonText text={text} />
        </p>
      ))}
      {result !== undefined && texts.length === 0 && <JsonTree value={result} />}
    </>
  );
}

/** The texts of a resource, or of the messages of a prompt. */
function textsIn(result: unknown): string[] {
  if (typeof result !== 'object' || result === null) return [];
  if ('text' in result && typeof result.text === 'string') return [result.text];
  if ('contents' in result && Array.isArray(result.contents)) return result.contents.flatMap(textsIn);
  if ('messages' in result && Array.isArray(result.messages)) return result.messages.flatMap(textsIn);
  return 'content' in result ? textsIn(result.content) : [];
}
