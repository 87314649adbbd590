// The public names of `@pocket-agent/store`.
export type {
  AppendOptions,
  ConversationAgent,
  MessageLog,
  SavedMessage,
  SavedMessages,
} from './conversations/conversation-agent.ts';
export {
  type Conversations,
  conversationsIn,
  type ExportedConversation,
  type OpenDatabase,
  openConversations,
  type SharedOptions,
} from './conversations/conversations.ts';
export type { ConversationInfo, ConversationPage, ListOptions } from './conversations/listing.ts';
export type { Memories, Memory } from './conversations/memories.ts';
export type { ConversationsOptions, OpenOptions } from './conversations/options.ts';
export type { ErasedOwner, OwnerInfo, OwnerPage } from './conversations/owners.ts';
export { conversationTables } from './conversations/schema.ts';
export type { FoundConversation, SearchPage } from './conversations/search.ts';
export type { Turn, Turns } from './conversations/turns.ts';
export type { Migration, MigrationSet, RunStatement } from './database/migrate.ts';
export { openStore, type Store, type StoreOptions } from './database/store.ts';
export { StoreError, type StoreErrorCode } from './database/store-error.ts';
