// Conversations for `useChat` whose runs live in this process.
import type { Message, PocketAgent } from 'pocket-agent';
import type { Chats, ChatTurn } from '../live/chats.ts';
import type { Answer } from '../live/live-run.ts';
import { type ConversationOf, LiveRuns } from '../live/live-runs.ts';
import { showsTool, type WebOptions } from '../live/options.ts';
import { turnsIn } from '../live/turns.ts';
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
        new UiChunks({ emit, messageId: answerId(turnsIn(before) + 1), showsTool: showsTool(this.#options) }),
    });
    return run instanceof Response ? run : run.replay(uiFrame);
  }

  async answer(of: ConversationOf, answers: readonly Answer[]): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(of);
    if (!run || run.isOver) return undefined;
    const body = run.follow(uiFrame);
    const accepted = answers.filter((answer) => run.answer(answer));
    if (accepted.length > 0) return body;
    await body.cancel();
    return undefined;
  }

  async resume(of: ConversationOf): Promise<ReadableStream | undefined> {
    const run = this.#runs.find(of);
    return run?.isResumable ? run.replay(uiFrame) : undefined;
  }

  async stop(of: ConversationOf): Promise<void> {
    await this.#runs.find(of)?.stop('The user stopped it.');
  }

  async read(of: ConversationOf): Promise<readonly Message[]> {
    return (await this.#runs.read(of, (agent) => agent.messages)) ?? [];
  }
}
