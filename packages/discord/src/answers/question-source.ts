// Loads the Discord objects of a claim: message, channel, user and guild.

import { errorText } from '@pocket-agent/kit';
import type { User } from 'discord.js';
import { type Guild, type GuildMember, type Message, PermissionFlagsBits, RESTJSONErrorCodes } from 'discord.js';
import { botCan } from '../access/channel-permissions.ts';
import { hasErrorCode, isRefusal } from '../base/discord-errors.ts';
import type { AttachedFile } from '../context/attachments.ts';
import type { BotParts } from '../conversation/parts.ts';
import { type AnswerChannel, InteractionChannel } from '../reply/interaction-channel.ts';
import { ownMessagesAfter } from '../reply/own-messages.ts';
import { quoted } from '../reply/texts.ts';
import { replyIds } from '../store/claims.ts';
import type { Claim } from '../store/schema.ts';

export interface QuestionSource {
  /** The message with the question; undefined for a command. */
  message: Message | undefined;
  /** The question of a command or a schedule. */
  text: string;
  /** Shown above the answer if there is no message to reply to. */
  heading: string;
  /** The files of a command. */
  files: readonly AttachedFile[];
  channel: AnswerChannel;
  user: User;
  member: GuildMember | null;
  guild: Guild | null;
  /** Claims whose answer is replaced, newest first. */
  replaces: string[];
  /** Messages that show the answer, or the answer being replaced. */
  replies: string[];
}

/** Undefined if the message or channel was deleted or the bot can no longer see it. */
export async function findSource(parts: BotParts, claim: Claim): Promise<QuestionSource | undefined> {
  const chain = await regenerationChain(parts, claim);
  const origin = chain?.at(-1);
  if (!chain || !origin) return undefined;
  try {
    const { client } = parts;
    const { text, files, token } = requestOf(origin);
    const channel = await findChannel(parts, { claim, interaction: origin.id, token });
    if (!channel) return undefined;
    const isRemote = channel instanceof InteractionChannel;
    const message = origin.kind === 'message' && !isRemote ? await channel.messages.fetch(origin.id) : undefined;
    const user = await client.users.fetch(claim.user_id);
    const guild = claim.guild_id === null ? null : (client.guilds.cache.get(claim.guild_id) ?? null);
    // Discord tells the bot about changes of members only when they do something
    const force = origin.kind === 'scheduled';
    const member = message?.member ?? (await guild?.members.fetch({ user: claim.user_id, force })) ?? null;
    const by = origin.kind === 'scheduled' ? `-# Scheduled by <@${user.id}>\n` : '';
    const heading = message ? '' : `${by}> ${quoted(text)}\n`;
    const replaces = chain.slice(1).map(({ id }) => id);
    const recorded = chain.map(replyIds).find((ids) => ids.length > 0);
    const replies = recorded ?? (origin.kind === 'ask' ? await commandReplies(origin.id, channel) : []);
    return { message, text, heading, files, channel, user, member, guild, replaces, replies };
  } catch (error) {
    // Discord would refuse it again, and other questions wait
    if (!isRefusal(error)) throw error;
    parts.logger.info('The message or channel of a question no longer exists', {
      claim: claim.id,
      reason: errorText(error),
    });
    const isForGood = hasErrorCode(error, RESTJSONErrorCodes.UnknownChannel, RESTJSONErrorCodes.UnknownMember);
    if (origin.run !== null && isForGood) await parts.schedules.removeOf(origin.run);
    return undefined;
  }
}

/** Undefined if the bot cannot answer there any more. */
async function findChannel(
  { client }: BotParts,
  { claim, interaction, token }: { claim: Claim; interaction: string; token: string | undefined },
): Promise<AnswerChannel | undefined> {
  if (token !== undefined) {
    const channel = new InteractionChannel(client, { channelId: claim.channel_id, id: interaction, token });
    return channel.closesAt > Date.now() ? channel : undefined;
  }
  const channel = await client.channels.fetch(claim.channel_id);
  return channel?.isSendable() ? channel : undefined;
}

/** Answers to a command that a stopped process sent but did not record. */
async function commandReplies(interaction: string, channel: AnswerChannel): Promise<string[]> {
  if (channel instanceof InteractionChannel) return [(await channel.original()).id];
  if (!botCan(channel, PermissionFlagsBits.ReadMessageHistory)) return [];
  const own = await ownMessagesAfter(channel, interaction);
  return own.filter(({ interactionMetadata }) => interactionMetadata?.id === interaction).map(({ id }) => id);
}

/** A claim and the claims it replaces, down to the question. Undefined if the question was deleted. */
export async function regenerationChain({ claims }: BotParts, claim: Claim): Promise<Claim[] | undefined> {
  const chain = [claim];
  for (let last = claim; last.kind === 'again'; chain.push(last)) {
    const replaced = await claims.get(requestOf(last).of ?? '');
    if (!replaced) return undefined;
    last = replaced;
  }
  const origin = chain.at(-1);
  return origin && origin.kind !== 'message' && origin.request === null ? undefined : chain;
}

/** `token`: of a command in a channel where the bot can only answer. */
function requestOf({ request }: Claim): { text: string; files: AttachedFile[]; of?: string; token?: string } {
  return { text: '', files: [], ...(request === null ? {} : JSON.parse(request)) };
}
