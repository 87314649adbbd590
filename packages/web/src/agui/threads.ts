// The interface of AG-UI threads, whose runs live in this process or are durable.
import type { PageAnswer } from '../live/live-run.ts';
import type { ConversationRef } from '../live/live-runs.ts';
import type { AguiRun } from './agui-events.ts';
import type { AguiRequest } from './agui-request.ts';

/** A request of the client, which calls it a run: it asks, answers interrupts or connects. */
export interface ThreadRun extends ConversationRef {
  runId: string;
}

export interface ThreadTurn extends ThreadRun {
  question: NonNullable<AguiRequest['question']>;
  earlierQuestions: AguiRequest['earlierQuestions'];
  traceparent: string | undefined;
}

export function clientRun({ id: threadId, runId }: ThreadRun): AguiRun {
  return { threadId, runId };
}

export interface AguiThreads {
  /** Whether the client has sent this run before. */
  hasStarted(run: ThreadRun): Promise<boolean>;
  /** Streams the answer, or returns an error response. */
  start(turn: ThreadTurn): Promise<ReadableStream | Response>;
  /** Answers interrupts, and streams what follows. Undefined if none of them is open. */
  answer(run: ThreadRun, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined>;
  /** Streams the messages so far, then the run in progress. */
  connect(run: ThreadRun): Promise<ReadableStream>;
  stop(ref: ConversationRef): Promise<void>;
}
