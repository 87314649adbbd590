// The parts of an agent that conversations need. `PocketAgent` has them; this package does not depend on the library.
import type { ResultLimits } from './saved-results.ts';

/** A message in the form of the library: plain JSON. */
export interface SavedMessage {
  readonly role: string;
  readonly content: readonly object[];
}

/** Messages that were saved since the log was last read or written. */
export interface SavedMessages {
  messages: readonly SavedMessage[];
  /** They replace all earlier messages, because the conversation was reset or deleted. */
  replaces: boolean;
  /** What was compacted of all messages of the conversation. */
  compacted?: object | undefined;
}

/** How `append` changes what was saved of a conversation before. */
export interface AppendOptions {
  /** The messages replace all earlier ones. */
  replaces: boolean;
  /** The new state of what was compacted; undefined if it has not changed. */
  compacted?: object | undefined;
}

/** Described in the library, whose `ConversationLog` this implements. */
export interface MessageLog {
  read(): Promise<SavedMessages>;
  begin(signal: AbortSignal): Promise<SavedMessages>;
  append(messages: readonly SavedMessage[], options: AppendOptions): Promise<void>;
  end(): Promise<void>;
  readonly memory?: object;
  results?(limits: ResultLimits): object;
}

/** The part of `PocketAgent` that saved conversations use. */
export interface ConversationAgent {
  /** A new agent of the same class and options. */
  fork(): this;
  continueConversation(log: MessageLog): Promise<void>;
  close(): Promise<void>;
}
