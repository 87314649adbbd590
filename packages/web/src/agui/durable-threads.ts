// Threads of AG-UI whose runs outlive the process.
import type { PocketAgent } from 'pocket-agent';
import { DurableConversations } from '../durable/durable-conversations.ts';
import { checkDurable, type DurableChatOptions } from '../durable/durable-options.ts';
import type { MakeFrame } from '../durable/durable-run.ts';
import type { Answer } from '../live/live-run.ts';
import type { ConversationOf } from '../live/live-runs.ts';
import { showsTool, type WebOptions } from '../live/options.ts';
import { AguiEvents, type AguiRun, messagesSnapshot, savedThread } from './agui-events.ts';
import { aguiMessages } from './agui-messages.ts';
import type { AguiThreads, ThreadRun, ThreadTurn } from './threads.ts';

export class DurableThreads implements AguiThreads {
  readonly #conversations: DurableConversations<AguiEvents>;
  readonly #showsTool: (name: string) => boolean;

  constructor(agent: PocketAgent<unknown>, options: WebOptions, durable: DurableChatOptions) {
    checkDurable(agent, options);
    this.#showsTool = showsTool(options);
    this.#conversations = new DurableConversations({
      ...{ agent, options, durable },
      // the ids are the same in each process
      makeEncoder: (emit, turn) => new AguiEvents({ emit, showsTool: this.#showsTool, id: `answer-${turn}` }),
    });
  }

  knows(run: ThreadRun): Promise<boolean> {
    return this.#conversations.knows(run, run.runId);
  }

  start({ question: { input }, ...turn }: ThreadTurn): Promise<ReadableStream | Response> {
    return this.#conversations.start({ ...turn, input }, frameOf(turn));
  }

  answer(run: ThreadRun, answers: readonly Answer[]): Promise<ReadableStream | undefined> {
    return this.#conversations.answer(run, answers, frameOf(run));
  }

  /** The answer in progress is sent from its beginning. */
  async connect(run: ThreadRun): Promise<ReadableStream> {
    const { before, run: shown } = await this.#conversations.readShown(run);
    const messages = aguiMessages(before, this.#showsTool);
    return shown?.replay(frameOf(run, [messagesSnapshot(messages)])) ?? savedThread(clientRun(run), messages);
  }

  stop(of: ConversationOf): Promise<void> {
    return this.#conversations.stop(of);
  }
}

function clientRun({ id: threadId, runId }: ThreadRun): AguiRun {
  return { threadId, runId };
}

/** `first`: what follows the beginning of the run. */
function frameOf(run: ThreadRun, first: readonly object[] = []): MakeFrame<AguiEvents> {
  return (events, open) => {
    const frame = events.frame(clientRun(run), open);
    return { ...frame, first: [...(frame.first ?? []), ...first] };
  };
}
