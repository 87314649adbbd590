// Finds questions in one channel that arrived while the bot was offline.
import { abortable, errorText } from '@pocket-agent/kit';
import { type Collection, type Message, SnowflakeUtil } from 'discord.js';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { oldestFirst } from '../base/message-order.ts';
import type { BotParts } from '../conversation/parts.ts';
import type { Checkpoint } from '../store/claims.ts';
import { onMessage } from './on-message.ts';

const PAGE_SIZE = 100;
const MAX_PAGES = 20;

interface CatchUp {
  checkpoint: Checkpoint;
  /** Older messages are not answered. */
  since: number;
  signal: AbortSignal;
}

/** False if the signal ended it early. Messages that are claimed already are skipped. */
export async function catchUp(
  parts: BotParts,
  queue: QuestionQueue,
  { checkpoint, since, signal }: CatchUp,
): Promise<boolean> {
  const { channelId, newest } = checkpoint;
  let after = SnowflakeUtil.timestampFrom(newest) < since ? idBefore(since) : newest;
  for (let page = 0; page < MAX_PAGES; page++) {
    const missed = await abortable(pageOf(parts, { channelId, after }), signal).catch(() => undefined);
    if (!missed) return false;
    const messages = oldestFirst(missed.values());
    for (const message of messages) {
      if (signal.aborted) return false;
      await onMessage(parts, queue, message);
    }
    if (messages.length < PAGE_SIZE) return true;
    after = messages.at(-1)?.id ?? after;
  }
  parts.logger.warn('Too many messages to check all of them for missed questions', { channelId });
  return true;
}

/** Empty if the channel cannot be read, so that new messages there do not have to wait. */
async function pageOf(
  { client, logger }: BotParts,
  { channelId, after }: { channelId: string; after: string },
): Promise<Pick<Collection<string, Message>, 'values'>> {
  try {
    const channel = await client.channels.fetch(channelId);
    if (channel?.isSendable()) return await channel.messages.fetch({ after, limit: PAGE_SIZE });
  } catch (error) {
    logger.warn('Reading a channel for missed messages failed', { channelId, reason: errorText(error) });
  }
  return new Map<string, Message>();
}

function idBefore(time: number): string {
  return String(SnowflakeUtil.generate({ timestamp: time - 1 }));
}
