// The messages that a branch begins with, as a conversation shows them.
import type { Message } from 'pocket-agent';
import type { ChatState, Item } from './model.ts';

export function withHistory(chat: ChatState, messages: readonly Message[]): ChatState {
  const items = messages.flatMap((message, index): Item[] => {
    const text = textIn(message);
    if (message.role === 'user') return [{ kind: 'user', key: `history ${index}`, text, index }];
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
    .map((part) => (part.type === 'text' ? part.text : part.type === 'file' ? `[${part.mediaType}]` : ''))
    .filter((text) => text !== '')
    .join('\n');
}
