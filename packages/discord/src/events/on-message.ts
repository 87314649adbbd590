// A message that is for the bot gets into the queue of its conversation, or is told why not.
import type { Message } from 'discord.js';
import { botMaySpeak } from '../access/permissions.ts';
import { isAllowed } from '../access/profile.ts';
import { withoutMention } from '../context/input.ts';
import { conversationKey } from '../conversation/key.ts';
import { overLimit } from '../conversation/limits.ts';
import { answerWith, tellQueued } from '../conversation/notices.ts';
import type { Queue } from '../conversation/queue.ts';
import { messageOf } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import { introduction } from '../texts.ts';
import { channelIdsOf, isForBot } from './address.ts';

/** Messages of one channel must be given one after the other: that is their order. */
export async function onMessage(parts: BotParts, queue: Queue, message: Message): Promise<void> {
  if (!isForBot(message) || !botMaySpeak(message.channel)) return;
  const { claims } = parts;
  const { guildId, channelId, author, member, channel } = message;
  const settings = await parts.settings.of(guildId);
  if (guildId !== null && !isAllowed(settings, { channelIds: channelIdsOf(channel), member })) return;
  const place = { guildId, channelId, userId: author.id };
  const conversation = conversationKey(place, settings.scope);
  const limit = await overLimit(parts, place);
  const refusal = limit?.reason ?? (isEmpty(message) ? introduction(parts.client.user.username) : undefined);
  const isBusy = refusal === undefined && (await claims.isBusy(conversation));
  const claim = {
    id: message.id,
    kind: 'message' as const,
    conversation,
    channel_id: channelId,
    guild_id: guildId,
    user_id: author.id,
    request: null,
  };
  const isFirst = await claims.add(claim, refusal === undefined ? 'queued' : 'done');
  if (refusal === undefined) queue.work(conversation);
  if (!isFirst || limit?.isTold || !channel.isSendable()) return;
  // nobody behind this message waits until Discord has taken a notice
  const told =
    refusal !== undefined ? answerWith(refusal, message, channel) : isBusy && tellQueued(parts, message, channel);
  if (told)
    told.catch((error) => parts.logger.warn('A notice was not sent', { claim: message.id, reason: messageOf(error) }));
}

function isEmpty({ content, attachments, client, reference }: Message): boolean {
  return withoutMention(content, client.user.id) === '' && attachments.size === 0 && !reference;
}
