// Messages in the format of AG-UI, for saved conversations and for runs in progress.
import { recordsIn } from '@pocket-agent/kit';
import type { AssistantMessage, Message, ToolContentPart, UserMessage } from 'pocket-agent';
import { urlOf } from '../live/file-url.ts';
import { HIDDEN_ERROR, isFailure } from '../live/run-encoder.ts';

export type AguiMessage =
  | { id: string; role: 'user'; content: unknown }
  | { id: string; role: 'assistant'; content?: string; toolCalls?: AguiToolCall[] }
  | { id: string; role: 'reasoning'; content: string }
  | { id: string; role: 'tool'; toolCallId: string; content: unknown; metadata?: { isError: true } }
  | { id: string; role: 'activity'; activityType: string; content: object };

export type MessageOf<Role extends AguiMessage['role']> = Extract<AguiMessage, { role: Role }>;

interface AguiToolCall {
  id: string;
  type: 'function';
  function: { name: string; arguments: string };
}

type ShowsDetails = (name: string) => boolean;

/** Stands for a result that the page may not see. */
export const hiddenResult = (isError: boolean | undefined) => (isError ? HIDDEN_ERROR : '');
export const resultId = (toolCallId: string) => `result-${toolCallId}`;

export function aguiMessages(messages: readonly Message[], showsDetails: ShowsDetails): AguiMessage[] {
  const shown: AguiMessage[] = [];
  let turn = 0;
  let step = 0;
  for (const message of messages) {
    if (message.role === 'user') {
      step = 0;
      shown.push({ id: `question-${++turn}`, role: 'user', content: userContent(message) });
    } else if (message.role === 'assistant') shown.push(...answerOf(`answer-${turn}-${++step}`, message, showsDetails));
    else
      for (const part of message.content) {
        if (part.type !== 'tool-result') continue;
        const { toolCallId, toolName, output } = part;
        const isError = isFailure(output);
        const value = 'value' in output ? output.value : 'reason' in output ? (output.reason ?? '') : '';
        const text = typeof value === 'string' ? value : JSON.stringify(value);
        const content = showsDetails(toolName) ? text : hiddenResult(isError);
        const id = resultId(toolCallId);
        shown.push({ id, role: 'tool', toolCallId, content, ...(isError ? { metadata: { isError: true } } : {}) });
      }
  }
  return shown;
}

function answerOf(id: string, { content }: AssistantMessage, showsDetails: ShowsDetails): AguiMessage[] {
  const texts = (type: 'text' | 'reasoning') =>
    content.map((part) => (part.type === type && 'text' in part ? part.text : '')).join('');
  const text = texts('text');
  const reasoning = texts('reasoning');
  const toolCalls = content.flatMap((part) =>
    part.type === 'tool-call'
      ? [toolCallOf(part.toolCallId, part.toolName, showsDetails(part.toolName) ? part.input : {})]
      : [],
  );
  const files = content.flatMap((part, index): AguiMessage[] => {
    const url = part.type === 'file' ? urlOf(part) : undefined;
    if (part.type !== 'file' || !url) return [];
    return [fileActivity(`${id}-file-${index + 1}`, { mediaType: part.mediaType, url })];
  });
  return [
    ...(reasoning ? [{ id: `${id}-reasoning`, role: 'reasoning' as const, content: reasoning }] : []),
    { id, role: 'assistant', ...(text ? { content: text } : {}), ...(toolCalls.length > 0 ? { toolCalls } : {}) },
    ...files,
  ];
}

export function toolCallOf(id: string, name: string, input: unknown): AguiToolCall {
  const json = typeof input === 'string' ? input : JSON.stringify(input);
  return { id, type: 'function', function: { name, arguments: json } };
}

export function fileActivity(id: string, content: { mediaType: string; url: string }): MessageOf<'activity'> {
  return { id, role: 'activity', activityType: 'FILE', content };
}

function userContent({ content }: UserMessage): unknown {
  if (content.every((part) => part.type === 'text')) return content.map(({ text }) => text).join('\n');
  return content.flatMap((part): object[] => {
    if (part.type === 'text') return [{ type: 'text', text: part.text }];
    const url = urlOf(part);
    return url ? [mediaPart(part.mediaType, sourceOf(url, part.mediaType))] : [];
  });
}

function sourceOf(url: string, mimeType: string): object {
  const data = /^data:[^,]*;base64,(.*)$/s.exec(url)?.[1];
  return data === undefined ? { type: 'url', value: url, mimeType } : { type: 'data', value: data, mimeType };
}

function mediaPart(mediaType: string, source: object): object {
  const kind = mediaType.split('/')[0] ?? '';
  return { type: ['image', 'audio', 'video'].includes(kind) ? kind : 'document', source };
}

/** A string, or a list of parts if there are files. */
export function resultContent(parts: readonly ToolContentPart[]): unknown {
  if (parts.every((part) => part.type === 'text')) return parts.map(({ text }) => text).join('\n');
  return parts.map((part) =>
    part.type === 'text'
      ? { type: 'text', text: part.text }
      : mediaPart(part.mediaType, { type: 'data', value: part.data.data, mimeType: part.mediaType }),
  );
}

/** The text in the content of a message, which is a string or a list of parts. */
export function textOfParts(content: unknown): string {
  if (typeof content === 'string') return content;
  const texts = recordsIn(content).map(({ type, text }) => (type === 'text' && typeof text === 'string' ? text : ''));
  return texts.filter(Boolean).join('\n');
}
