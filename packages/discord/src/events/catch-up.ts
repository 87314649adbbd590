// Questions that came while nobody was there, looked up in one channel where people talk to the bot.
import { type Collection, type Message, SnowflakeUtil } from 'discord.js';
import type { Queue } from '../answers/question-queue.ts';
import { messageOf } from '../base/errors.ts';
import { oldestFirst } from '../base/message-order.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { Mark } from '../store/claims.ts';
import { onMessage } from './on-message.ts';

const PAGE = 100;
const MOST_PAGES = 20;

interface Missed {
  mark: Mark;
  /** What is older is not answered any more. */
  since: number;
  signal: AbortSignal;
}

/** False when the signal ended it before all was looked through. A message that was claimed before is not taken twice. */
export async function catchUp(parts: BotParts, queue: Queue, { mark, since, signal }: Missed): Promise<boolean> {
  const { channelId, newest } = mark;
  let after = SnowflakeUtil.timestampFrom(newest) < since ? idBefore(since) : newest;
  for (let page = 0; page < MOST_PAGES; page++) {
    const missed = await unlessAborted(signal, pageOf(parts, { channelId, after }));
    if (!missed) return false;
    const messages = oldestFirst(missed.values());
    for (const message of messages) {
      if (signal.aborted) return false;
      await onMessage(parts, queue, message);
    }
    if (messages.length < PAGE) return true;
    after = messages.at(-1)?.id ?? after;
  }
  parts.logger.warn('Too much was said to look through all of it for missed messages', { channelId });
  return true;
}

/** Whether this process hears what is said there. */
export function isOurs({ client }: BotParts, { guildId }: Mark): boolean {
  return guildId === null ? client.ws.shards.has(0) : client.guilds.cache.has(guildId);
}

/** Nothing where the channel cannot be read: what is said there now must not wait for it. */
async function pageOf(
  { client, logger }: BotParts,
  { channelId, after }: { channelId: string; after: string },
): Promise<Pick<Collection<string, Message>, 'values'>> {
  try {
    const channel = await client.channels.fetch(channelId);
    if (channel?.isSendable()) return await channel.messages.fetch({ after, limit: PAGE });
  } catch (error) {
    logger.warn('A channel could not be read for missed messages', { channelId, reason: messageOf(error) });
  }
  return new Map<string, Message>();
}

function idBefore(time: number): string {
  return String(SnowflakeUtil.generate({ timestamp: time - 1 }));
}

async function unlessAborted<Result>(signal: AbortSignal, work: Promise<Result>): Promise<Result | undefined> {
  const ended = Promise.withResolvers<undefined>();
  const end = () => ended.resolve(undefined);
  signal.addEventListener('abort', end, { once: true });
  if (signal.aborted) end();
  try {
    return await Promise.race([ended.promise, work]);
  } finally {
    signal.removeEventListener('abort', end);
  }
}
