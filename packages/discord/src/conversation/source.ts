// Where a claim came from, found again at Discord: after a restart nothing else is left of it.
import type { Guild, GuildMember, Message, SendableChannels, User } from 'discord.js';
import type { GivenFile } from '../context/attachments.ts';
import { isRefusal } from '../discord-error.ts';
import { messageOf } from '../errors.ts';
import type { BotParts } from '../parts.ts';
import type { Claim } from '../store/schema.ts';
import { replyIds } from './claims.ts';

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
  /** The answer that is to be replaced. */
  replaces: string | undefined;
  /** The messages that show the answer, or the one it replaces. */
  replies: string[];
}

/** Undefined when the message, the channel or the bot's right to see it are gone. */
export async function sourceOf(parts: BotParts, claim: Claim): Promise<Source | undefined> {
  const origin = await originOf(parts, claim);
  if (!origin) return undefined;
  try {
    const { client } = parts;
    const channel = await client.channels.fetch(claim.channel_id);
    if (!channel?.isSendable()) return undefined;
    const message = origin.kind === 'message' ? await channel.messages.fetch(origin.id) : undefined;
    const user = await client.users.fetch(claim.user_id);
    const guild = claim.guild_id === null ? null : (client.guilds.cache.get(claim.guild_id) ?? null);
    const member = message?.member ?? (await guild?.members.fetch(claim.user_id)) ?? null;
    const { text, files } = requestOf(origin.kind === 'ask' ? origin : undefined);
    const replaces = requestOf(claim).of;
    const shown = replaces === undefined || claim.replies !== '[]' ? claim : await parts.claims.get(replaces);
    const replies = shown ? replyIds(shown) : [];
    return { message, text, files, channel, user, member, guild, replaces, replies };
  } catch (error) {
    // whatever Discord refuses, it will refuse again, and others wait behind it
    if (!isRefusal(error)) throw error;
    parts.logger.info('A question is gone', { claim: claim.id, reason: messageOf(error) });
    return undefined;
  }
}

/** A regenerated answer is to what the first one was to. */
async function originOf({ claims }: BotParts, claim: Claim): Promise<Claim | undefined> {
  let origin: Claim | undefined = claim;
  while (origin?.kind === 'again') origin = await claims.get(requestOf(origin).of ?? '');
  return origin;
}

function requestOf(claim: Claim | undefined): { text: string; files: GivenFile[]; of?: string } {
  return { text: '', files: [], ...(claim?.request ? JSON.parse(claim.request) : {}) };
}
