// Adds a message for the bot to the queue of its conversation, or tells the user why not.

import { errorText } from '@pocket-agent/kit';
import type { GuildMember, Message } from 'discord.js';
import { isServed } from '../access/allowlist.ts';
import { botCanSend } from '../access/channel-permissions.ts';
import { channelIdsOf, isAllowed } from '../access/profile.ts';
import type { QuestionQueue } from '../answers/question-queue.ts';
import { isRefusal } from '../base/discord-errors.ts';
import { withoutMention } from '../context/input.ts';
import type { BotParts } from '../conversation/parts.ts';
import { exceededLimit } from '../conversation/rate-limits.ts';
import { introduction } from '../reply/texts.ts';
import { conversationKey } from '../store/conversation-key.ts';
import { isForBot } from './address.ts';

const NOT_SAVED = '-# I could not save this question, so I cannot answer it. Ask again in a few minutes.';

/** Does not read the database. */
export function isForThisBot({ options }: BotParts, message: Message): boolean {
  const { guildId, author, channel } = message;
  return isForBot(message) && botCanSend(channel) && isServed(options, { guildId, userId: author.id });
}

/** Call it for the messages of one channel in order and one at a time. */
export async function onMessage(parts: BotParts, queue: QuestionQueue, message: Message): Promise<void> {
  if (!isForThisBot(parts, message)) return;
  const { claims } = parts;
  const { guildId, channelId, author, channel } = message;
  const settings = await parts.settings.get(guildId);
  const isAllowedHere = async () =>
    isAllowed(settings, { channelIds: channelIdsOf(channel), member: await memberOf(message) });
  if (guildId !== null && !(await isAllowedHere())) return;
  const place = { guildId, channelId, userId: author.id };
  const conversation = conversationKey(place, settings.scope);
  const limit = await exceededLimit(parts, place);
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
  if (refusal === undefined) queue.process(conversation);
  if (!isFirst || limit?.wasNotified) return;
  if (refusal === undefined) {
    if (isBusy && channel.isSendable()) parts.notices.schedule(message, channel);
    return;
  }
  // do not delay the messages after this one
  void sendNotice(parts, message, refusal);
}

/** Tells the user that the question will not be answered. */
export function notifyNotSaved(parts: BotParts, message: Message): Promise<void> {
  return sendNotice(parts, message, NOT_SAVED);
}

async function sendNotice({ logger }: BotParts, { channel, id }: Message, content: string): Promise<void> {
  if (!channel.isSendable()) return;
  try {
    await channel.send({ content, reply: { messageReference: id, failIfNotExists: false } });
  } catch (error) {
    logger.warn('Sending a notice failed', { claim: id, reason: errorText(error) });
  }
}

/** Messages that were fetched come without their member. */
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
