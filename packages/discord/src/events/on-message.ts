// A message that is for the bot gets into the queue of its conversation, or is told why not.
import type { GuildMember, Message } from 'discord.js';
import { botMaySpeak } from '../access/permissions.ts';
import { isAllowed } from '../access/profile.ts';
import { isServed } from '../access/served.ts';
import { withoutMention } from '../context/input.ts';
import { conversationKey } from '../conversation/key.ts';
import { overLimit } from '../conversation/limits.ts';
import type { Queue } from '../conversation/queue.ts';
import { isRefusal } from '../discord-error.ts';
import { messageOf } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import { introduction } from '../texts.ts';
import { channelIdsOf, isForBot } from './address.ts';

/** Messages of one channel must be given one after the other: that is their order. */
export async function onMessage(parts: BotParts, queue: Queue, message: Message): Promise<void> {
  if (!isForBot(message) || !botMaySpeak(message.channel)) return;
  const { claims } = parts;
  const { guildId, channelId, author, channel } = message;
  if (!isServed(parts.options, { guildId, userId: author.id })) return;
  const settings = await parts.settings.of(guildId);
  const isWelcome = async () =>
    isAllowed(settings, { channelIds: channelIdsOf(channel), member: await memberOf(message) });
  if (guildId !== null && !(await isWelcome())) return;
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
  const isFirst = await claims.add(claim, limit ? 'refused' : refusal === undefined ? 'queued' : 'done');
  if (refusal === undefined) queue.work(conversation);
  if (!isFirst || limit?.isTold || !channel.isSendable()) return;
  if (refusal === undefined) {
    if (isBusy) parts.notices.plan(message, channel);
    return;
  }
  // nobody behind this message waits until Discord has taken a notice
  channel
    .send({ content: refusal, reply: { messageReference: message.id, failIfNotExists: false } })
    .catch((error) => parts.logger.warn('A notice was not sent', { claim: message.id, reason: messageOf(error) }));
}

/** Messages that were looked up come without the member who wrote them. */
async function memberOf({ member, guild, author }: Message): Promise<GuildMember | null> {
  try {
    return member ?? (await guild?.members.fetch(author.id)) ?? null;
  } catch (error) {
    if (isRefusal(error)) return null;
    throw error;
  }
}

function isEmpty({ content, attachments, client, reference }: Message): boolean {
  return withoutMention(content, client.user.id) === '' && attachments.size === 0 && !reference;
}
