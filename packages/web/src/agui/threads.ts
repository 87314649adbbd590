// The threads behind a handler for AG-UI: in this process, or in durable runs.
import type { Answer } from '../live/live-run.ts';
import type { ConversationOf } from '../live/live-runs.ts';
import type { AguiRequest } from './agui-request.ts';

/** A run of the client: a question, answers to interrupts, or a connection. */
export interface ThreadRun extends ConversationOf {
  runId: string;
}

export interface ThreadTurn extends ThreadRun {
  question: NonNullable<AguiRequest['question']>;
  repeats: AguiRequest['repeats'];
  traceparent: string | undefined;
}

export interface AguiThreads {
  /** Whether this run of the client has begun already. */
  knows(run: ThreadRun): Promise<boolean>;
  /** The answer as it is written, or the response that refuses the question. */
  start(turn: ThreadTurn): Promise<ReadableStream | Response>;
  /** What follows the answers. Undefined if none of the questions is open. */
  answer(run: ThreadRun, answers: readonly Answer[]): Promise<ReadableStream | undefined>;
  /** The messages so far, then the run in progress. */
  connect(run: ThreadRun): Promise<ReadableStream>;
  stop(of: ConversationOf): Promise<void>;
}
