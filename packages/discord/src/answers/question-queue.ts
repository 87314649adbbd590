// Answers queued questions, one at a time per conversation. The queue itself is in the database.
import { errorText } from '@pocket-agent/kit';
import type { BotParts } from '../conversation/parts.ts';
import { SENDING } from '../conversation/queue-notices.ts';
import { receivesMessagesOf } from '../gateway/shard-events.ts';
import { guildPrefix } from '../store/conversation-key.ts';
import type { Claim } from '../store/schema.ts';
import { answer } from './answer.ts';
import { findSource } from './question-source.ts';
import { recover } from './recovery.ts';
import { mayAskStill } from './scheduled-question.ts';

export class QuestionQueue {
  readonly #parts: BotParts;
  readonly #active = new Map<string, Promise<void>>();
  /** Conversations with new questions while they were being processed. */
  readonly #recheck = new Set<string>();
  #isOpen = true;

  constructor(parts: BotParts) {
    this.#parts = parts;
  }

  /** Processes the open questions of a conversation, unless another process owns it. */
  process(conversation: string): void {
    if (!this.#isOpen) return;
    if (this.#active.has(conversation)) {
      this.#recheck.add(conversation);
      return;
    }
    const active = this.#drain(conversation)
      .catch((error) =>
        this.#parts.logger.error('Processing a conversation failed', { conversation, reason: errorText(error) }),
      )
      .finally(() => {
        this.#active.delete(conversation);
        if (this.#recheck.delete(conversation)) this.process(conversation);
      });
    this.#active.set(conversation, active);
  }

  /** Processes conversations of stopped processes, and abandons runs that other processes took over. */
  async takeOver(): Promise<void> {
    const { ownership, client, runs } = this.#parts;
    const running = runs.conversations;
    const owned = await ownership.owned(running);
    runs.abandonIn(running.filter((conversation) => !owned.has(conversation)));
    for (const { conversation, guild_id } of await ownership.pending()) {
      if (receivesMessagesOf(client, guild_id)) this.process(conversation);
    }
  }

  /** Starts no more questions; the next process continues with them. */
  close(): void {
    this.#isOpen = false;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#active.values());
  }

  /** Stops all runs of a guild and waits until they have finished writing. */
  async stopGuild(guildId: string): Promise<void> {
    const inGuild = [...this.#active].filter(([conversation]) => conversation.startsWith(guildPrefix(guildId)));
    this.#parts.runs.stopInGuild(guildId);
    await Promise.all(inGuild.map(([, active]) => active));
  }

  async #drain(conversation: string): Promise<void> {
    const { claims, ownership } = this.#parts;
    do {
      if (!(await ownership.acquire(conversation))) return;
      for (
        let claim = await claims.next(conversation);
        claim && this.#isOpen;
        claim = await claims.next(conversation)
      ) {
        if (!(await this.#handle(claim))) return;
        await claims.finish(claim);
      }
    } while (this.#isOpen && !(await ownership.releaseIfIdle(conversation)));
  }

  async #handle(claim: Claim): Promise<boolean> {
    const { claims, notices } = this.#parts;
    const source = await findSource(this.#parts, claim);
    const isMessage = claim.kind === 'message';
    const noticeIds = claim.state === 'queued' ? await claims.begin(claim) : [SENDING];
    // remove the notice, so that the answer appears below newer messages
    if (isMessage) await notices.remove(claim, noticeIds);
    if (!source) return true;
    const isNew = claim.state === 'queued';
    if (claim.kind === 'scheduled' && isNew && !(await mayAskStill(this.#parts, { claim, source }))) return true;
    if (isMessage && isNew) source.replies = [];
    const answerOrRecover = isNew ? answer : recover;
    const isFinished = await answerOrRecover(this.#parts, { claim, source });
    // a killed process may have sent a notice after the first search
    if (isMessage && noticeIds.includes(SENDING)) await notices.remove(claim, noticeIds);
    return isFinished;
  }
}
