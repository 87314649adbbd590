// Conversations for `useChat` whose runs outlive the process.
import type { Message, PocketAgent } from 'pocket-agent';
import { DurableConversations } from '../durable/durable-conversations.ts';
import { checkDurable, type DurableChatOptions } from '../durable/durable-options.ts';
import type { Chats, ChatTurn } from '../live/chats.ts';
import type { Answer } from '../live/live-run.ts';
import type { ConversationOf } from '../live/live-runs.ts';
import { showsTool, type WebOptions } from '../live/options.ts';
import { UiChunks, uiFrame } from './ui-chunks.ts';
import { answerId } from './ui-messages.ts';

const frame = () => uiFrame;

export class DurableChats implements Chats {
  readonly #conversations: DurableConversations<UiChunks>;

  constructor(agent: PocketAgent<unknown>, options: WebOptions, durable: DurableChatOptions) {
    checkDurable(agent, options);
    this.#conversations = new DurableConversations({
      agent,
      options,
      durable,
      makeEncoder: (emit, turn) => new UiChunks({ emit, messageId: answerId(turn), showsTool: showsTool(options) }),
    });
  }

  start(turn: ChatTurn): Promise<ReadableStream | Response> {
    return this.#conversations.start(turn, frame);
  }

  answer(of: ConversationOf, answers: readonly Answer[]): Promise<ReadableStream | undefined> {
    return this.#conversations.answer(of, answers, frame);
  }

  resume(of: ConversationOf): Promise<ReadableStream | undefined> {
    return this.#conversations.resume(of, frame);
  }

  stop(of: ConversationOf): Promise<void> {
    return this.#conversations.stop(of);
  }

  read(of: ConversationOf): Promise<readonly Message[]> {
    return this.#conversations.read(of);
  }
}
