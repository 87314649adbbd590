// "This is next": told to whoever has to wait for longer than a moment, and taken back when their turn has come.
import { type Client, type Message, RESTJSONErrorCodes, type SendableChannels } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { isCode } from '../discord-error.ts';
import { messageOf } from '../errors.ts';
import { buttons } from '../reply/buttons.ts';
import type { Claim } from '../store/schema.ts';
import type { Claims } from './claims.ts';

export const QUEUED = '-# I am still answering something else here; this is next.';
const LOOKED_THROUGH = 50;

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

  /** `known` is the one that was noted down; a process that was killed may have sent one without doing so. */
  async takeBack(
    claim: Claim,
    { known, isInherited }: { known: readonly string[]; isInherited: boolean },
  ): Promise<void> {
    clearTimeout(this.#planned.get(claim.id));
    this.#planned.delete(claim.id);
    if (known.length === 0 && !isInherited) return;
    try {
      const channel = await this.#watching.client.channels.fetch(claim.channel_id);
      if (!channel?.isSendable()) return;
      const stray = isInherited ? await strayNotices(channel, claim) : [];
      for (const id of new Set([...known, ...stray])) await remove(channel, id);
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
    if ((await claims.get(message.id))?.state !== 'queued') return;
    const sent = await channel.send({
      content: QUEUED,
      components: buttons(['stop'], message.id),
      reply: { messageReference: message.id, failIfNotExists: false },
    });
    if (!(await claims.setNotice(message.id, sent.id))) await remove(channel, sent.id);
  }
}

async function strayNotices(channel: SendableChannels, claim: Claim): Promise<string[]> {
  const found = await channel.messages.fetch({ after: claim.id, limit: LOOKED_THROUGH });
  const stray = found.filter(
    ({ author, client, content, reference }) =>
      author.id === client.user.id && content === QUEUED && reference?.messageId === claim.id,
  );
  return [...stray.keys()];
}

async function remove(channel: SendableChannels, id: string): Promise<void> {
  await channel.messages.delete(id).catch((error) => {
    if (!isCode(error, RESTJSONErrorCodes.UnknownMessage)) throw error; // gone is what it should be
  });
}
