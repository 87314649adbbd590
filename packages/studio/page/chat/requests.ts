// What the page asks of conversations, from more than one place.
import type { ChatInfo } from '../../src/wire/wire.ts';
import type { Connection } from '../connection.ts';
import { address } from '../parts/hooks.ts';
import type { ChatState, Item } from '../state/model.ts';

export type UserItem = Extract<Item, { kind: 'user' }>;

export function lastMessage(chat: ChatState | undefined): UserItem | undefined {
  return chat?.items.findLast((item) => item.kind === 'user');
}

/** Opens a branch of a conversation in which a message has another text, and shows it. */
export async function branch(connection: Connection, chat: ChatInfo, message: UserItem, text: string): Promise<void> {
  const from = { chatId: chat.id, count: message.index };
  const { id } = await connection.post<ChatInfo>('/chats', { agent: chat.agent, from });
  const files = message.files.filter(({ data }) => data !== '');
  await connection.post(`/chats/${id}/messages`, { text, files });
  location.hash = address('chat', id);
}

export async function deleteChat(connection: Connection, id: string): Promise<void> {
  await connection.delete(`/chats/${id}`);
  location.hash = address('chat');
}
