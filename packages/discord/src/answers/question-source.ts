// Where a claim came from, found again at Discord: after a restart nothing else is left of it.

import type { SendableChannels, User } from 'discord.js';
import { type Guild, type GuildMember, type Message, PermissionFlagsBits } from 'discord.js';
import { botMay } from '../access/bot-permissions.ts';
import { isRefusal } from '../base/discord-errors.ts';
import { messageOf } from '../base/errors.ts';
import type { GivenFile } from '../context/attachments.ts';
import type { BotParts } from '../conversation/parts.ts';
import { ownMessagesAfter } from '../reply/own-messages.ts';
import { replyIds } from '../store/claims.ts';
import type { Claim } from '../store/schema.ts';

export interface Source {
  /** The message that asks; none for a command. */
  message: Message | undefined;
  /** The question of a command. */
  text: string;
  /** The files of a command. */
  files: readonly GivenFile[];
  channel: SendableChannels;
  user: User;
  member: GuildMember | null;
  guild: Guild | null;
  /** The claims whose answer is to be replaced, the newest first: tries before this one may have failed. */
  replaces: string[];
  /** The messages that show the answer, or the one it replaces. */
  replies: string[];
}

/** Undefined when the message, the channel or the bot's right to see it are gone. */
export async function sourceOf(parts: BotParts, claim: Claim): Promise<Source | undefined> {
  const chain = await chainOf(parts, claim);
  const origin = chain?.at(-1);
  if (!chain || !origin) return undefined;
  try {
    const { client } = parts;
    const channel = await client.channels.fetch(claim.channel_id);
    if (!channel?.isSendable()) return undefined;
    const message = origin.kind === 'message' ? await channel.messages.fetch(origin.id) : undefined;
    const user = await client.users.fetch(claim.user_id);
    const guild = claim.guild_id === null ? null : (client.guilds.cache.get(claim.guild_id) ?? null);
    const member = message?.member ?? (await guild?.members.fetch(claim.user_id)) ?? null;
    const { text, files } = requestOf(origin);
    const replaces = chain.slice(1).map(({ id }) => id);
    const known = chain.map(replyIds).find((ids) => ids.length > 0);
    const replies = known ?? (origin.kind === 'ask' ? await saidTo(origin.id, channel) : []);
    return { message, text, files, channel, user, member, guild, replaces, replies };
  } catch (error) {
    // whatever Discord refuses, it will refuse again, and others wait behind it
    if (!isRefusal(error)) throw error;
    parts.logger.info('A question is gone', { claim: claim.id, reason: messageOf(error) });
    return undefined;
  }
}

/** What a process that is gone said to a command without noting it down. */
async function saidTo(interaction: string, channel: SendableChannels): Promise<string[]> {
  if (!botMay(channel, PermissionFlagsBits.ReadMessageHistory)) return [];
  const own = await ownMessagesAfter(channel, interaction);
  return own.filter(({ interactionMetadata }) => interactionMetadata?.id === interaction).map(({ id }) => id);
}

/** A claim, the one it replaces, and so on to the one that asked. Undefined when the question was forgotten. */
export async function chainOf({ claims }: BotParts, claim: Claim): Promise<Claim[] | undefined> {
  const chain = [claim];
  for (let last = claim; last.kind === 'again'; chain.push(last)) {
    const before = await claims.get(requestOf(last).of ?? '');
    if (!before) return undefined;
    last = before;
  }
  const origin = chain.at(-1);
  return origin?.kind === 'ask' && origin.request === null ? undefined : chain;
}

function requestOf({ request }: Claim): { text: string; files: GivenFile[]; of?: string } {
  return { text: '', files: [], ...(request === null ? {} : JSON.parse(request)) };
}
