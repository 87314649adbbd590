// Reads the conversations that a bot has stored.
import { type ExportedConversation, openConversations } from '@pocket-agent/store';
import type { Message } from 'pocket-agent';

type StoredConversation = ExportedConversation<Message>;

/** Oldest first. */
export async function storedConversations(database: { file?: string; url?: string }): Promise<StoredConversation[]> {
  await using chats = await openConversations({ ...database, scope: 'discord' });
  const { conversations } = await chats.list({ limit: 1_000 });
  const found = await Promise.all(conversations.map(({ id }) => chats.export<Message>(id)));
  return found.filter((conversation) => conversation !== undefined).reverse();
}

export async function storedMessages(database: { file?: string; url?: string }): Promise<Message[]> {
  return (await storedConversations(database)).flatMap(({ messages }) => messages);
}
