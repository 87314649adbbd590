// The result of a tool as the model reads it: text, JSON that unfolds, or an image.
import type { VNode } from 'preact';
import type { ResultPart, ToolState } from '../state/model.ts';
import { JsonText, JsonTree } from './json-tree.tsx';

export function ToolResultView({ tool: { result } }: { tool: ToolState }): VNode | null {
  if (!result) return null;
  return (
    <>
      <h4>Result</h4>
      {result.map((part, index) => (
        <Part key={index} part={part} />
      ))}
    </>
  );
}

function Part({ part }: { part: ResultPart }): VNode {
  if (part.type === 'text') {
    const value = parsed(part.text);
    return value === undefined ? <JsonText text={part.text} /> : <JsonTree value={value} />;
  }
  if (!/^image\/(?:png|jpeg|gif|webp)$/.test(part.mediaType)) return <p class="note">{part.mediaType}</p>;
  return <img src={`data:${part.mediaType};base64,${part.data}`} alt="Result of the tool" />;
}

/** Undefined if it is not an object or a list. */
function parsed(text: string): unknown {
  if (!/^\s*[[{]/.test(text)) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
