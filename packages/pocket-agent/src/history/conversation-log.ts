// Where the messages of a conversation are saved. `@pocket-agent/store` implements it for SQLite and PostgreSQL.
import type { LanguageModelV4FinishReason } from '@ai-sdk/provider';
import type { Message, ToolMessage } from '../base/messages.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { CompactedHistory } from '../compaction/history-view.ts';
import type { ResultLimits, ResultStore } from '../compaction/result-pages.ts';
import type { RunTotals } from '../cost/budget.ts';
import type { JournaledInnerCall } from '../run/inner-journal.ts';
import type { AgentMemory } from './memory-tools.ts';

/** Messages that were saved since the log was last read or written. */
export interface SavedMessages {
  messages: readonly Message[];
  /** They replace all earlier messages, because the conversation was reset or deleted. */
  replaces: boolean;
  /** The newest compacted part of the whole conversation. */
  compacted?: CompactedHistory | undefined;
  /** From a log with a journal: the progress of the last run. */
  progress?: RunProgress | undefined;
  /** From a log with a journal: its records about the calls in the last message. */
  calls?: JournaledCalls | undefined;
  /**
   * From the log of a sub-agent: which calls of its parent agent it has begun to answer in the step in progress, the
   * newest last.
   */
  madeFor?: readonly string[] | undefined;
}

/** How `append` of a `ConversationLog` changes what was saved before. */
export interface AppendOptions {
  /** The messages replace all earlier ones, with their compacted part. */
  replaces: boolean;
  /** The new compacted part; undefined if it has not changed. */
  compacted?: CompactedHistory | undefined;
  /** For a log with a journal: the progress of the run after these messages; undefined before its first answer. */
  progress?: RunProgress | undefined;
  /** For the log of a sub-agent: the call of its parent agent that the run answers. */
  madeFor?: string | undefined;
}

/** The progress of a run besides its messages: `resume()` continues its steps, budget and cost. */
export interface RunProgress {
  /** Steps that have begun. */
  steps: number;
  /** The usage of the run so far. */
  totals: RunTotals;
  /** Why the model ended its last answer. */
  finishReason: LanguageModelV4FinishReason;
}

/** The records of a journal about the calls in the last message. */
export interface JournaledCalls {
  /** The ids of calls that have begun. Those without a result may have taken effect. */
  begun: readonly string[];
  results: readonly ToolMessage[];
  /** Calls that scripts have made. */
  inner?: readonly JournaledInnerCall[];
  /** The usage of sub-agents for a call, by its id. */
  used?: Readonly<Record<string, RunTotals>>;
}

/**
 * Saves the calls of a step one by one, for runs that another process may continue. With it, an answer of the model is
 * appended before its calls are made, and `resume()` makes those that have not begun. Such a log may save what is appended a little
 * later, in this order: `begin` and `ready` resolve when it is saved. `run()` does not wait for its last answer to be saved.
 */
export interface CallJournal {
  /** Before a call that is neither read-only nor idempotent. */
  begin(call: ToolCall): Promise<void>;
  /**
   * Before any other call and before each step: resolves when the answers that were appended are saved. Not needed if `append`
   * resolves no earlier.
   */
  ready?(): Promise<void>;
  /** The result of a call, while other calls of the step may still run. The whole step is appended when all have ended. */
  end(result: ToolMessage): Promise<void>;
  /** A call of a script: before it is made, unless it is harmless to make it twice, and when it has ended. */
  inner?(call: JournaledInnerCall): Promise<void>;
  /** The conversation of a sub-agent, in the same journal: its own answers and calls are saved one by one, too. */
  subAgent?(name: string): ConversationLog;
}

/** One agent's access to a conversation. Several agents, also in other processes, may have access to the same one. */
export interface ConversationLog {
  /** The messages that others saved. Does not wait for a run that is in progress. */
  read(): Promise<SavedMessages>;
  /** A run begins: waits until no other run holds the conversation, then holds it until `end()`. */
  begin(signal: AbortSignal): Promise<SavedMessages>;
  /** Saves all of the messages or none. Rejects if the run no longer holds the conversation. */
  append(messages: readonly Message[], options: AppendOptions): Promise<void>;
  /** Called when the run has ended. */
  end(): Promise<void>;
  /** Set if another process may continue a run with `resume()`. */
  readonly journal?: CallJournal | undefined;
  /** For the tools of an agent with `memory: true`. */
  readonly memory?: AgentMemory;
  /** Where large tool results are kept; without it in memory. */
  results?(limits: ResultLimits): ResultStore;
}
