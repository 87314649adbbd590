// AG-UI threads with durable runs.
import type { PocketAgent } from 'pocket-agent';
import { DurableConversations } from '../durable/durable-conversations.ts';
import { checkDurable, type DurableChatOptions } from '../durable/durable-options.ts';
import type { MakeFrame } from '../durable/durable-run.ts';
import type { PageAnswer } from '../live/live-run.ts';
import type { ConversationRef } from '../live/live-runs.ts';
import { showsDetails, type WebOptions } from '../live/options.ts';
import { AguiEvents, messagesSnapshot, savedThread } from './agui-events.ts';
import { aguiMessages } from './agui-messages.ts';
import { type AguiThreads, clientRun, type ThreadRun, type ThreadTurn } from './threads.ts';

export class DurableThreads implements AguiThreads {
  readonly #conversations: DurableConversations<AguiEvents>;
  readonly #showsDetails: (name: string) => boolean;

  constructor(agent: PocketAgent<unknown>, options: WebOptions, durable: DurableChatOptions) {
    checkDurable(agent, options);
    this.#showsDetails = showsDetails(options);
    this.#conversations = new DurableConversations({
      agent,
      options,
      durable,
      // every process uses the same ids
      makeEncoder: (emit, turn) => new AguiEvents({ emit, showsDetails: this.#showsDetails, id: `answer-${turn}` }),
    });
  }

  hasStarted(run: ThreadRun): Promise<boolean> {
    return this.#conversations.hasStarted(run, run.runId);
  }

  start({ question: { input }, ...turn }: ThreadTurn): Promise<ReadableStream | Response> {
    return this.#conversations.start({ ...turn, input }, frameOf(turn));
  }

  answer(run: ThreadRun, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined> {
    return this.#conversations.answer(run, answers, frameOf(run));
  }

  /** Replays the answer in progress from its beginning. */
  async connect(run: ThreadRun): Promise<ReadableStream> {
    const { before, run: replayable } = await this.#conversations.readReplayable(run);
    const messages = aguiMessages(before, this.#showsDetails);
    return replayable?.replay(frameOf(run, [messagesSnapshot(messages)])) ?? savedThread(clientRun(run), messages);
  }

  stop(ref: ConversationRef): Promise<void> {
    return this.#conversations.stop(ref);
  }
}

/** `first`: events to send after the first one. */
function frameOf(run: ThreadRun, first: readonly object[] = []): MakeFrame<AguiEvents> {
  return (events, open) => {
    const frame = events.frame(clientRun(run), open);
    return { ...frame, first: [...(frame.first ?? []), ...first] };
  };
}
