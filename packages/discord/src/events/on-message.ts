// A message that is for the bot gets into the queue of its conversation, or is told why not.
import type { GuildMember, Message } from 'discord.js';
import { isServed } from '../access/allowlist.ts';
import { botMaySpeak } from '../access/bot-permissions.ts';
import { channelIdsOf, isAllowed } from '../access/profile.ts';
import type { Queue } from '../answers/question-queue.ts';
import { isRefusal } from '../base/discord-errors.ts';
import { messageOf } from '../base/errors.ts';
import { withoutMention } from '../context/input.ts';
import type { BotParts } from '../conversation/parts.ts';
import { overLimit } from '../conversation/rate-limits.ts';
import { introduction } from '../reply/texts.ts';
import { conversationKey } from '../store/conversation-key.ts';
import { isForBot } from './address.ts';

const NOT_TAKEN = '-# I could not write this question down, so I cannot answer it. Ask me again in some minutes.';

/** As far as the message alone tells. */
export function isHeard({ options }: BotParts, message: Message): boolean {
  const { guildId, author, channel } = message;
  return isForBot(message) && botMaySpeak(channel) && isServed(options, { guildId, userId: author.id });
}

/** Messages of one channel must be given one after the other: that is their order. */
export async function onMessage(parts: BotParts, queue: Queue, message: Message): Promise<void> {
  if (!isHeard(parts, message)) return;
  const { claims } = parts;
  const { guildId, channelId, author, channel } = message;
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
  if (!isFirst || limit?.isTold) return;
  if (refusal === undefined) {
    if (isBusy && channel.isSendable()) parts.notices.plan(message, channel);
    return;
  }
  // nobody behind this message waits until Discord has taken a notice
  void tell(parts, message, refusal);
}

/** Whoever asked hears that nothing will come of it. */
export function tellNotTaken(parts: BotParts, message: Message): Promise<void> {
  return tell(parts, message, NOT_TAKEN);
}

async function tell({ logger }: BotParts, { channel, id }: Message, content: string): Promise<void> {
  if (!channel.isSendable()) return;
  try {
    await channel.send({ content, reply: { messageReference: id, failIfNotExists: false } });
  } catch (error) {
    logger.warn('A notice was not sent', { claim: id, reason: messageOf(error) });
  }
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
