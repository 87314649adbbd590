// Converts the messages of an agent to UI messages, for a page that opens a saved conversation.
import type { AssistantMessage, Message, ToolMessage, UserMessage } from 'pocket-agent';
import { urlOf } from '../live/file-url.ts';
import { HIDDEN_ERROR, isFailure } from '../live/run-encoder.ts';

interface UiMessage {
  id: string;
  role: 'user' | 'assistant';
  parts: Record<string, unknown>[];
}

/** `turn` is counted from 1. */
export const answerId = (turn: number) => `answer-${turn}`;

/** All steps of an answer become one UI message. */
export function uiMessages(messages: readonly Message[], showsDetails: (name: string) => boolean): UiMessage[] {
  const shown: UiMessage[] = [];
  let turn = 0;
  for (const message of messages) {
    if (message.role === 'user') {
      shown.push({ id: `question-${++turn}`, role: 'user', parts: userParts(message) });
      continue;
    }
    const id = answerId(turn);
    if (shown.at(-1)?.id !== id) shown.push({ id, role: 'assistant', parts: [] });
    const answer = shown.at(-1) as UiMessage;
    if (message.role === 'tool') addResults(answer, message, showsDetails);
    else answer.parts.push({ type: 'step-start' }, ...assistantParts(message, showsDetails));
  }
  return shown;
}

function userParts({ content }: UserMessage): UiMessage['parts'] {
  return content.flatMap((part): UiMessage['parts'] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    const url = urlOf(part);
    return url ? [{ type: 'file', mediaType: part.mediaType, url, filename: part.filename }] : [];
  });
}

function assistantParts({ content }: AssistantMessage, showsDetails: (name: string) => boolean): UiMessage['parts'] {
  return content.flatMap((part): UiMessage['parts'] => {
    if (part.type === 'text' || part.type === 'reasoning') return [{ type: part.type, text: part.text, state: 'done' }];
    if (part.type === 'tool-call') {
      const { toolCallId, toolName, input } = part;
      return [
        {
          type: 'dynamic-tool',
          toolCallId,
          toolName,
          state: 'input-available',
          input: showsDetails(toolName) ? input : {},
        },
      ];
    }
    const url = part.type === 'file' ? urlOf(part) : undefined;
    return part.type === 'file' && url ? [{ type: 'file', mediaType: part.mediaType, url }] : [];
  });
}

function addResults(answer: UiMessage, { content }: ToolMessage, showsDetails: (name: string) => boolean): void {
  for (const result of content) {
    const part = 'toolCallId' in result && answer.parts.find(({ toolCallId }) => toolCallId === result.toolCallId);
    if (!part || result.type !== 'tool-result') continue;
    const { output, toolName } = result;
    const value = 'value' in output ? output.value : null;
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const isShown = showsDetails(toolName);
    if (isFailure(output)) Object.assign(part, { state: 'output-error', errorText: isShown ? text : HIDDEN_ERROR });
    else Object.assign(part, { state: 'output-available', output: isShown ? value : null });
  }
}
