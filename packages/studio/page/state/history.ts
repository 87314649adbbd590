// The messages that a branch or a saved conversation begins with, as a conversation shows them.
import type { Message } from 'pocket-agent';
import type { SentFile } from '../../src/wire/wire.ts';
import type { ChatState, Item } from './model.ts';

export function withHistory(chat: ChatState, messages: readonly Message[]): ChatState {
  const items = messages.flatMap((message, index): Item[] => {
    const text = textIn(message);
    if (message.role === 'user')
      return [{ kind: 'user', key: `history ${index}`, text, files: filesIn(message), index }];
    if (message.role !== 'assistant') return [];
    const calls = message.content.filter((part) => part.type === 'tool-call').map(({ toolName }) => toolName);
    return [
      ...(text === ''
        ? []
        : [{ kind: 'answer', key: `history ${index}`, text, reasoning: '', isStreaming: false } satisfies Item]),
      ...calls.map(
        (name, call) => ({ kind: 'note', key: `history ${index}.${call}`, text: `called ${name}` }) as const,
      ),
    ];
  });
  return { ...chat, items, messageCount: messages.length };
}

export function textIn(message: Message): string {
  if (message.role === 'tool') return '';
  return message.content
    .map((part) => {
      if (part.type === 'text') return part.text;
      return part.type === 'file' && message.role === 'assistant' ? `[${part.mediaType}]` : '';
    })
    .filter((text) => text !== '')
    .join('\n');
}

/** Files of a question; without data if they are elsewhere. */
export function filesIn(message: Message): SentFile[] {
  if (message.role !== 'user') return [];
  return message.content.flatMap((part) => {
    if (part.type !== 'file') return [];
    const { mediaType, filename = mediaType, data: source } = part;
    const data = typeof source === 'object' && 'data' in source && typeof source.data === 'string' ? source.data : '';
    return [{ name: filename, mediaType, data }];
  });
}
