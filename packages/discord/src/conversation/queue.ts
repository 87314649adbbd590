// One run at a time in each conversation. The queue itself is in the database; this works it off.
import { messageOf } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import type { Claim } from '../store/schema.ts';
import { within } from '../within.ts';
import { answer } from './answer.ts';
import { guildPrefix } from './key.ts';
import { takeBack } from './notices.ts';
import { recover } from './recover.ts';
import { sourceOf } from './source.ts';

/** For the last words of answers that are cut off. */
const FAREWELL_MS = 2_000;

export class Queue {
  readonly #parts: BotParts;
  readonly #working = new Map<string, Promise<void>>();
  /** Conversations that got more to do while they were worked on. */
  readonly #again = new Set<string>();
  readonly #closing = new AbortController();
  readonly #startedAt = Date.now();
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

  /** What is left over by processes that are gone. */
  async takeOver(): Promise<void> {
    const { claims, client } = this.#parts;
    for (const { conversation, guild_id } of await claims.abandoned()) {
      const isOurs = guild_id === null ? client.ws.shards.has(0) : client.guilds.cache.has(guild_id);
      if (isOurs) this.work(conversation);
    }
  }

  /** Lets what runs come to an end for a while, then stops it; the rest is for the next process. */
  async close(graceMs: number): Promise<void> {
    this.#isOpen = false;
    if (await within(graceMs, this.idle())) return;
    this.#closing.abort();
    await within(FAREWELL_MS, this.idle());
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
    const { claims } = this.#parts;
    do {
      if (!(await claims.take(conversation))) return;
      for (
        let claim = await claims.next(conversation);
        claim && this.#isOpen;
        claim = await claims.next(conversation)
      ) {
        if (!(await this.#handle(claim))) return;
        await claims.finish(claim.id);
      }
    } while (this.#isOpen && !(await claims.release(conversation)));
  }

  async #handle(claim: Claim): Promise<boolean> {
    const source = await sourceOf(this.#parts, claim);
    if (!source) return true;
    const { signal } = this.#closing;
    const isInherited = claim.created_at < this.#startedAt;
    const known = claim.state === 'queued' ? await this.#parts.claims.begin(claim) : [];
    if (claim.kind === 'message') {
      // the answer comes below what was said meanwhile
      await takeBack(source.channel, claim, { known, isInherited });
      if (claim.state === 'queued') source.replies = [];
    }
    const work = claim.state === 'running' ? recover : answer;
    return work(this.#parts, claim, source, signal);
  }
}
