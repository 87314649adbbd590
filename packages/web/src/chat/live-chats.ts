// Conversations for `useChat` whose runs live in this process.
import type { Message, PocketAgent } from 'pocket-agent';
import type { Chats, ChatTurn } from '../live/chats.ts';
import type { PageAnswer } from '../live/live-run.ts';
import { type ConversationRef, LiveRuns } from '../live/live-runs.ts';
import { showsDetails, type WebOptions } from '../live/options.ts';
import { countTurns } from '../live/turns.ts';
import { UiChunks, uiFrame } from './ui-chunks.ts';
import { answerId } from './ui-messages.ts';

export class LiveChats implements Chats {
  readonly #runs: LiveRuns;
  readonly #options: WebOptions;

  constructor(agent: PocketAgent<unknown>, options: WebOptions) {
    this.#runs = new LiveRuns(agent, options);
    this.#options = options;
  }

  async start(turn: ChatTurn): Promise<ReadableStream | Response> {
    const run = await this.#runs.startTurn({
      ...turn,
      makeEncoder: (emit, before) =>
        new UiChunks({ emit, messageId: answerId(countTurns(before) + 1), showsDetails: showsDetails(this.#options) }),
    });
    return run instanceof Response ? run : run.replay(uiFrame);
  }

  async answer(ref: ConversationRef, answers: readonly PageAnswer[]): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(ref);
    if (!run || run.isOver) return undefined;
    const body = run.follow(uiFrame);
    const accepted = answers.filter((answer) => run.answer(answer));
    if (accepted.length > 0) return body;
    await body.cancel();
    return undefined;
  }

  async resume(ref: ConversationRef): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(ref);
    return run?.isResumable ? run.replay(uiFrame) : undefined;
  }

  async stop(ref: ConversationRef): Promise<void> {
    await this.#runs.find(ref)?.stop('The user stopped it.');
  }

  async read(ref: ConversationRef): Promise<readonly Message[]> {
    return (await this.#runs.read(ref, (agent) => agent.messages)) ?? [];
  }
}
