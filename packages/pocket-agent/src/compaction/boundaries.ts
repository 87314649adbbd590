// Where a history may be cut: between steps, so that a tool call and its result are never separated.
import type { Message } from '../base/messages.ts';

/** For each message, whether a prompt may begin with it. */
export function boundariesOf(messages: readonly Message[]): boolean[] {
  const open = new Set<string>();
  return messages.map((message, index) => {
    // a provider that pauses its turn continues it in the next assistant message
    const isContinued = message.role === 'assistant' && messages[index - 1]?.role === 'assistant';
    const isBoundary = open.size === 0 && message.role !== 'tool' && !isContinued;
    for (const part of message.content) {
      if (part.type === 'tool-result') open.delete(part.toolCallId);
      if (part.type === 'tool-call' && !part.providerExecuted) open.add(part.toolCallId);
    }
    return isBoundary;
  });
}

interface CutRequest {
  messages: readonly Message[];
  /** Messages before this one are left out already. */
  from: number;
  keepTokens: number;
  tokensOf(message: Message): number;
}

/**
 * The first message to keep: the newest messages, as many as fit into `keepTokens`, but at least those of the last step.
 * Undefined if there is nothing before it to leave out.
 */
export function findCut({ messages, from, keepTokens, tokensOf }: CutRequest): number | undefined {
  const boundaries = boundariesOf(messages.slice(from)); // no call is open at `from`, because it is a boundary
  let kept = 0;
  let cut: number | undefined;
  for (let index = messages.length - 1; index > from; index--) {
    const message = messages[index];
    if (message) kept += tokensOf(message);
    if (kept > keepTokens && cut !== undefined) return cut;
    if (boundaries[index - from]) cut = index;
  }
  return cut;
}
