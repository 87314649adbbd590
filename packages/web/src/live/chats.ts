// The conversations behind a handler for `useChat`: in this process, or in durable runs.
import type { Message, UserInput } from 'pocket-agent';
import type { Answer } from './live-run.ts';
import type { ConversationOf } from './live-runs.ts';

/** A question of the user. */
export interface ChatTurn extends ConversationOf {
  input: string | UserInput;
  /** Set if the page repeats or changes an earlier question: its questions before that one. */
  repeats: readonly string[] | undefined;
  traceparent: string | undefined;
}

export interface Chats {
  /** The answer as it is written, or the response that refuses the question. */
  start(turn: ChatTurn): Promise<ReadableStream | Response>;
  /** What follows the answers to questions for approval. Undefined if none of them is open. */
  answer(of: ConversationOf, answers: readonly Answer[]): Promise<ReadableStream | undefined>;
  /** The answer in progress from its beginning. Undefined if there is none. */
  resume(of: ConversationOf): Promise<ReadableStream | undefined>;
  stop(of: ConversationOf): Promise<void>;
  /** The saved messages. */
  read(of: ConversationOf): Promise<readonly Message[]>;
}
