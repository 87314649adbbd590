// A request to a model in its parts: the system prompt, the history, and the tools, each with its share of the tokens.
import type { VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import type { ModelCallDetails } from '../../src/wire/wire.ts';
import { counted } from '../parts/format.ts';
import { JsonText, JsonTree } from '../parts/json-tree.tsx';

interface PromptMessage {
  role: string;
  content: unknown;
}

interface PromptProps {
  call: ModelCallDetails;
  /** Of the whole request, if they are known. */
  tokens: number | undefined;
}

export function Prompt({ call, tokens }: PromptProps): VNode {
  const messages: readonly PromptMessage[] = Array.isArray(call.prompt) ? call.prompt : [];
  const tools: readonly { name?: unknown }[] = Array.isArray(call.tools) ? call.tools : [];
  const sizes = useMemo(
    () => new Map([...messages, ...tools].map((part) => [part, JSON.stringify(part).length])),
    [call],
  );
  const size = (parts: readonly object[]) => parts.reduce((sum, part) => sum + (sizes.get(part) ?? 0), 0);
  const whole = size([...messages, ...tools]);
  const shareOf = (parts: readonly object[]) => share(size(parts) / whole, tokens);
  const system = messages.filter(({ role }) => role === 'system');
  const history = messages.filter(({ role }) => role !== 'system');
  return (
    <>
      {system.length > 0 && <Heading title="System prompt" share={shareOf(system)} />}
      {system.map((message, index) => (
        <div key={index} class="message">
          <Content content={message.content} />
        </div>
      ))}
      <Heading title={`History: ${counted(history.length, 'message')}`} share={shareOf(history)} />
      {history.map((message, index) => (
        <div key={index} class="message">
          <h5>
            {message.role} <span class="soft">{shareOf([message])}</span>
          </h5>
          <Content content={message.content} />
        </div>
      ))}
      {tools.length > 0 && <Heading title={counted(tools.length, 'tool')} share={shareOf(tools)} />}
      {tools.length > 0 && <p class="note">{tools.map(({ name }) => String(name)).join(', ')}</p>}
    </>
  );
}

function Heading({ title, share: text }: { title: string; share: string }): VNode {
  return (
    <h4>
      {title} <span class="soft">{text}</span>
    </h4>
  );
}

/** Tokens are counted for the whole request, so those of a part are an estimate. */
function share(part: number, tokens: number | undefined): string {
  if (tokens === undefined) return `${Math.round(100 * part)} % of the request`;
  return `about ${counted(Math.round(part * tokens), 'token')}`;
}

function Content({ content }: { content: unknown }): VNode {
  if (typeof content === 'string') return <JsonText text={content} />;
  const parts: unknown[] = Array.isArray(content) ? content : [content];
  return (
    <>
      {parts.map((part, index) => {
        const isText = typeof part === 'object' && part !== null && 'text' in part && typeof part.text === 'string';
        return <div key={index}>{isText ? <JsonText text={String(part.text)} /> : <JsonTree value={part} />}</div>;
      })}
    </>
  );
}
