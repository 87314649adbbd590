// A prompt message by message, with the part of the prompt that each one is.
import type { VNode } from 'preact';
import { JsonText, JsonTree } from '../parts/json-tree.tsx';

interface PromptMessage {
  role: string;
  content: unknown;
}

/** `tokens`: of the whole prompt, if they are known. */
export function Prompt({ prompt, tokens }: { prompt: unknown; tokens: number | undefined }): VNode {
  const messages: PromptMessage[] = Array.isArray(prompt) ? prompt : [];
  const sizes = messages.map((message) => JSON.stringify(message).length);
  const whole = sizes.reduce((sum, size) => sum + size, 0);
  return (
    <>
      {messages.map((message, index) => (
        <div key={index} class="message">
          <h4>
            {message.role} <span class="soft">{share((sizes[index] ?? 0) / whole, tokens)}</span>
          </h4>
          <Content content={message.content} />
        </div>
      ))}
    </>
  );
}

/** Tokens are counted for the whole prompt, so those of a message are an estimate. */
function share(part: number, tokens: number | undefined): string {
  const percent = `${Math.round(100 * part)} % of the prompt`;
  return tokens === undefined ? percent : `about ${Math.round(part * tokens).toLocaleString('en')} tokens, ${percent}`;
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
