// The interface of conversations for `useChat`, whose runs live in this process or are durable.
import type { Message, UserInput } from 'pocket-agent';
import type { PageAnswer } from './live-run.ts';
import type { ConversationRef } from './live-runs.ts';

/** A question of the user. */
export interface ChatTurn extends ConversationRef {
  input: string | UserInput;
  /** Set if the page repeats or edits an earlier question: the questions before it. */
  earlierQuestions: readonly string[] | undefined;
  traceparent: string | undefined;
}

export interface Chats {
  /** Streams the answer, or returns an error response. */
  start(turn: ChatTurn): Promise<ReadableStream | Response>;
  /** Answers approvals and forms, and streams what follows. Undefined if none of them is open. */
  answer(ref: ConversationRef, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined>;
  /** Streams the answer in progress from its beginning. Undefined if there is none. */
  resume(ref: ConversationRef): Promise<ReadableStream | undefined>;
  stop(ref: ConversationRef): Promise<void>;
  /** The saved messages. */
  read(ref: ConversationRef): Promise<readonly Message[]>;
}
