// Where the messages of a conversation are saved. `@pocket-agent/store` implements it for SQLite and PostgreSQL.
import type { Message } from '../base/messages.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import type { ResultLimits, ResultStore } from '../compaction/result-pages.ts';
import type { AgentMemory } from './memory-tools.ts';

/** Messages that were saved since the log was last read or written. */
export interface SavedMessages {
  messages: readonly Message[];
  /** They replace all earlier messages, because the conversation was reset or deleted. */
  replaces: boolean;
  /** The newest state of what was compacted of the whole conversation. */
  compacted?: CompactedHistory | undefined;
}

export interface AppendOptions {
  /** The messages take the place of all earlier ones; what was compacted of those is forgotten. */
  replaces: boolean;
  /** The new state of what was compacted; undefined if it has not changed. */
  compacted?: CompactedHistory | undefined;
}

/** One agent's access to a conversation. Several agents, also in other processes, may have access to the same one. */
export interface ConversationLog {
  /** The messages that others saved. Does not wait for a run that is in progress. */
  read(): Promise<SavedMessages>;
  /** A run begins: waits until no other run holds the conversation, then holds it until `end()`. */
  begin(signal: AbortSignal): Promise<SavedMessages>;
  /** Saves all of the messages or none. Rejects if the run no longer holds the conversation. */
  append(messages: readonly Message[], options: AppendOptions): Promise<void>;
  /** The run has ended. */
  end(): Promise<void>;
  /** For the tools of an agent with `memory: true`. */
  readonly memory?: AgentMemory;
  /** Where large tool results are kept; without it in memory. */
  results?(limits: ResultLimits): ResultStore;
}
