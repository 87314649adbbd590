// Conversations for `useChat` with durable runs.
import type { Message, PocketAgent } from 'pocket-agent';
import { DurableConversations } from '../durable/durable-conversations.ts';
import { checkDurable, type DurableChatOptions } from '../durable/durable-options.ts';
import type { Chats, ChatTurn } from '../live/chats.ts';
import type { PageAnswer } from '../live/live-run.ts';
import type { ConversationRef } from '../live/live-runs.ts';
import { showsDetails, type WebOptions } from '../live/options.ts';
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
      makeEncoder: (emit, turn) =>
        new UiChunks({ emit, messageId: answerId(turn), showsDetails: showsDetails(options) }),
    });
  }

  start(turn: ChatTurn): Promise<ReadableStream | Response> {
    return this.#conversations.start(turn, frame);
  }

  answer(ref: ConversationRef, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined> {
    return this.#conversations.answer(ref, answers, frame);
  }

  resume(ref: ConversationRef): Promise<ReadableStream | undefined> {
    return this.#conversations.resume(ref, frame);
  }

  stop(ref: ConversationRef): Promise<void> {
    return this.#conversations.stop(ref);
  }

  read(ref: ConversationRef): Promise<readonly Message[]> {
    return this.#conversations.read(ref);
  }
}
