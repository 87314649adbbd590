// Questions that came while nobody was there: looked up where people talked to the bot lately.

import type { Queue } from '../conversation/queue.ts';
import { messageOf } from '../errors.ts';
import { oldestFirst } from '../oldest-first.ts';
import type { BotParts } from '../parts.ts';
import { onMessage } from './on-message.ts';

const MOST = 100;

/** A message that was claimed before is not taken twice. */
export async function catchUp(parts: BotParts, queue: Queue, sinceMs: number): Promise<void> {
  const { claims, client, logger } = parts;
  const since = Date.now() - sinceMs;
  for (const { channelId, guildId, newest } of await claims.recentChannels(since)) {
    if (guildId !== null && !client.guilds.cache.has(guildId)) continue;
    try {
      const channel = await client.channels.fetch(channelId);
      if (!channel?.isSendable()) continue;
      const missed = await channel.messages.fetch({ after: newest, limit: MOST });
      for (const message of oldestFirst(missed.values())) {
        if (message.createdTimestamp >= since) await onMessage(parts, queue, message);
      }
    } catch (error) {
      logger.warn('A channel could not be read for missed messages', { channelId, reason: messageOf(error) });
    }
  }
}
