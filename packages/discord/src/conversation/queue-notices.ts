// "Yours is next" notices: sent to users who wait for longer than `afterMs`, and removed when the answer starts.

import { errorText } from '@pocket-agent/kit';
import type { Client, Message, SendableChannels } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { buttons } from '../reply/buttons.ts';
import { deleteMessage, ownMessagesAfter } from '../reply/own-messages.ts';
import type { Claims } from '../store/claims.ts';
import type { Claim } from '../store/schema.ts';

export const QUEUED_TEXT = '-# I am still answering another question here; yours is next.';
/** Recorded while the id of a notice is unknown: after a crash it has to be searched for. */
export const SENDING = 'sending';

interface NoticeOptions {
  client: Client<true>;
  claims: Claims;
  logger: Logger;
  /** Notices use up the rate limit of the channel too, so short waits get no notice. */
  afterMs: number;
}

export class QueueNotices {
  readonly #options: NoticeOptions;
  readonly #scheduled = new Map<string, NodeJS.Timeout>();
  readonly #sending = new Set<Promise<void>>();

  constructor(options: NoticeOptions) {
    this.#options = options;
  }

  /** Sends a notice later, unless the question starts before. */
  schedule(message: Message, channel: SendableChannels): void {
    const { logger, afterMs } = this.#options;
    const timer = setTimeout(() => {
      this.#scheduled.delete(message.id);
      const sending = this.#send(message, channel)
        .catch((error) => logger.warn('Sending a notice failed', { claim: message.id, reason: errorText(error) }))
        .finally(() => this.#sending.delete(sending));
      this.#sending.add(sending);
    }, afterMs).unref();
    this.#scheduled.set(message.id, timer);
  }

  /** Removes the notice of a claim. */
  async remove(claim: Claim, recordedIds: readonly string[]): Promise<void> {
    clearTimeout(this.#scheduled.get(claim.id));
    this.#scheduled.delete(claim.id);
    if (recordedIds.length === 0) return;
    try {
      const channel = await this.#options.client.channels.fetch(claim.channel_id);
      if (!channel?.isSendable()) return;
      const ids = recordedIds.includes(SENDING) ? await noticesOf(claim, channel) : recordedIds;
      for (const id of ids) await deleteMessage(channel, id);
    } catch (error) {
      // continue: the answer matters more
      this.#options.logger.warn('Removing a notice failed', { claim: claim.id, reason: errorText(error) });
    }
  }

  /** Cancels scheduled notices and waits for those being sent. */
  async close(): Promise<void> {
    for (const timer of this.#scheduled.values()) clearTimeout(timer);
    this.#scheduled.clear();
    await Promise.all(this.#sending);
  }

  async #send(message: Message, channel: SendableChannels): Promise<void> {
    const { claims } = this.#options;
    if (!(await claims.setNotice(message.id, SENDING))) return;
    const sent = await channel.send({
      content: QUEUED_TEXT,
      components: buttons(['stop'], message.id),
      reply: { messageReference: message.id, failIfNotExists: false },
    });
    if (!(await claims.setNotice(message.id, sent.id))) await deleteMessage(channel, sent.id);
  }
}

async function noticesOf(claim: Claim, channel: SendableChannels): Promise<string[]> {
  const own = await ownMessagesAfter(channel, claim.id);
  return own
    .filter(({ content, reference }) => content === QUEUED_TEXT && reference?.messageId === claim.id)
    .map(({ id }) => id);
}
