// "This is next": told to whoever has to wait for longer than a moment, and taken back when their turn has come.
import { type Client, type Message, RESTJSONErrorCodes, type SendableChannels } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { isCode } from '../base/discord-errors.ts';
import { messageOf } from '../base/errors.ts';
import { buttons } from '../reply/buttons.ts';
import { ownMessagesAfter } from '../reply/own-messages.ts';
import type { Claims } from '../store/claims.ts';
import type { Claim } from '../store/schema.ts';

export const QUEUED = '-# I am still answering something else here; this is next.';
/** Noted down instead of an id that is not known yet: the notice has to be looked for. */
export const SENDING = 'sending';

interface Watching {
  client: Client<true>;
  claims: Claims;
  logger: Logger;
  /** Notices and answers share what a channel takes, so most waits are not worth one. */
  afterMs: number;
}

export class Notices {
  readonly #watching: Watching;
  readonly #planned = new Map<string, NodeJS.Timeout>();
  readonly #sending = new Set<Promise<void>>();

  constructor(watching: Watching) {
    this.#watching = watching;
  }

  /** Tells it unless the turn of the message comes before. */
  plan(message: Message, channel: SendableChannels): void {
    const { logger, afterMs } = this.#watching;
    const timer = setTimeout(() => {
      this.#planned.delete(message.id);
      const sending = this.#tell(message, channel)
        .catch((error) => logger.warn('A notice was not sent', { claim: message.id, reason: messageOf(error) }))
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }, afterMs).unref();
    this.#planned.set(message.id, timer);
  }

  /** `known` is what was noted down of it. */
  async takeBack(claim: Claim, known: readonly string[]): Promise<void> {
    clearTimeout(this.#planned.get(claim.id));
    this.#planned.delete(claim.id);
    if (known.length === 0) return;
    try {
      const channel = await this.#watching.client.channels.fetch(claim.channel_id);
      if (!channel?.isSendable()) return;
      const ids = known.includes(SENDING) ? await noticesOf(claim, channel) : known;
      for (const id of ids) await remove(channel, id);
    } catch (error) {
      // the answer is more than a notice that stays
      this.#watching.logger.warn('A notice was not taken back', { claim: claim.id, reason: messageOf(error) });
    }
  }

  /** Nothing more is told; what is being sent is noted down. */
  async close(): Promise<void> {
    for (const timer of this.#planned.values()) clearTimeout(timer);
    this.#planned.clear();
    await Promise.all(this.#sending);
  }

  async #tell(message: Message, channel: SendableChannels): Promise<void> {
    const { claims } = this.#watching;
    if (!(await claims.setNotice(message.id, SENDING))) return;
    const sent = await channel.send({
      content: QUEUED,
      components: buttons(['stop'], message.id),
      reply: { messageReference: message.id, failIfNotExists: false },
    });
    if (!(await claims.setNotice(message.id, sent.id))) await remove(channel, sent.id);
  }
}

async function noticesOf(claim: Claim, channel: SendableChannels): Promise<string[]> {
  const own = await ownMessagesAfter(channel, claim.id);
  return own
    .filter(({ content, reference }) => content === QUEUED && reference?.messageId === claim.id)
    .map(({ id }) => id);
}

async function remove(channel: SendableChannels, id: string): Promise<void> {
  await channel.messages.delete(id).catch((error) => {
    if (!isCode(error, RESTJSONErrorCodes.UnknownMessage)) throw error; // gone is what it should be
  });
}
