// One run at a time in each conversation. The queue itself is in the database; this works it off.
import { messageOf } from '../base/errors.ts';
import type { BotParts } from '../conversation/parts.ts';
import { SENDING } from '../conversation/queue-notices.ts';
import { guildPrefix } from '../store/conversation-key.ts';
import type { Claim } from '../store/schema.ts';
import { answer } from './answer.ts';
import { sourceOf } from './question-source.ts';
import { recover } from './recovery.ts';

export class Queue {
  readonly #parts: BotParts;
  readonly #working = new Map<string, Promise<void>>();
  /** Conversations that got more to do while they were worked on. */
  readonly #again = new Set<string>();
  #isOpen = true;

  constructor(parts: BotParts) {
    this.#parts = parts;
  }

  /** Looks whether there is something to do in a conversation, unless another process does. */
  work(conversation: string): void {
    if (!this.#isOpen) return;
    if (this.#working.has(conversation)) {
      this.#again.add(conversation);
      return;
    }
    const working = this.#workOff(conversation)
      .catch((error) =>
        this.#parts.logger.error('A conversation could not be worked on', { conversation, reason: messageOf(error) }),
      )
      .finally(() => {
        this.#working.delete(conversation);
        if (this.#again.delete(conversation)) this.work(conversation);
      });
    this.#working.set(conversation, working);
  }

  /** What is left over by processes that are gone is ours now; what others have taken from this one is not. */
  async takeOver(): Promise<void> {
    const { holdings, client, runs } = this.#parts;
    const running = runs.conversations;
    const held = await holdings.among(running);
    runs.loseIn(running.filter((conversation) => !held.has(conversation)));
    for (const { conversation, guild_id } of await holdings.abandoned()) {
      const isOurs = guild_id === null ? client.ws.shards.has(0) : client.guilds.cache.has(guild_id);
      if (isOurs) this.work(conversation);
    }
  }

  /** Begins nothing more; the rest is for the next process. */
  close(): void {
    this.#isOpen = false;
  }

  async idle(): Promise<void> {
    await Promise.all(this.#working.values());
  }

  /** Ends what runs in a guild; afterwards nothing of it is left to be written. */
  async leave(guildId: string): Promise<void> {
    const theirs = [...this.#working].filter(([conversation]) => conversation.startsWith(guildPrefix(guildId)));
    this.#parts.runs.stopIn(guildId);
    await Promise.all(theirs.map(([, working]) => working));
  }

  async #workOff(conversation: string): Promise<void> {
    const { claims, holdings } = this.#parts;
    do {
      if (!(await holdings.take(conversation))) return;
      for (
        let claim = await claims.next(conversation);
        claim && this.#isOpen;
        claim = await claims.next(conversation)
      ) {
        if (!(await this.#handle(claim))) return;
        await claims.finish(claim);
      }
    } while (this.#isOpen && !(await holdings.release(conversation)));
  }

  async #handle(claim: Claim): Promise<boolean> {
    const { claims, notices } = this.#parts;
    const source = await sourceOf(this.#parts, claim);
    const isMessage = claim.kind === 'message';
    const known = claim.state === 'queued' ? await claims.begin(claim) : [SENDING];
    // the answer comes below what was said meanwhile
    if (isMessage) await notices.takeBack(claim, known);
    if (!source) return true;
    if (isMessage && claim.state === 'queued') source.replies = [];
    const work = claim.state === 'queued' ? answer : recover;
    const isOver = await work(this.#parts, { claim, source });
    // one that came after the look, of a process that was killed before it could take it back
    if (isMessage && known.includes(SENDING)) await notices.takeBack(claim, known);
    return isOver;
  }
}
