// What somebody may do in a guild: whether the bot answers them there, and with which tools.
import type { GuildMember } from 'discord.js';
import { PermissionFlagsBits } from 'discord.js';
import { type JudgedTool, type ProfileName, profiles } from 'pocket-agent';
import type { GuildSettings } from '../store/guild-settings.ts';

/** The widest of somebody's roles; that of everybody without such a role. */
export function profileOf(member: GuildMember | null, settings: GuildSettings): ProfileName {
  const given = [...(member?.roles.cache.keys() ?? [])].flatMap((role) => settings.profiles[role] ?? []);
  return given.sort((a, b) => profiles[b].length - profiles[a].length)[0] ?? settings.profile;
}

/** `channelIds`: the channel, and the one a thread is in. */
export function isAllowed(
  { channels, roles }: GuildSettings,
  { channelIds, member }: { channelIds: readonly string[]; member: GuildMember | null },
): boolean {
  if (channels.length > 0 && !channelIds.some((id) => channels.includes(id))) return false;
  if (roles.length === 0 || member?.permissions.has(PermissionFlagsBits.ManageGuild)) return true;
  return roles.some((role) => member?.roles.cache.has(role));
}

/** The channel of a message, and the one a thread is in. */
export function channelIdsOf(channel: { id: string; parentId?: string | null; isThread(): boolean } | null): string[] {
  if (!channel) return [];
  return channel.isThread() && channel.parentId ? [channel.id, channel.parentId] : [channel.id];
}

/** What changes or deletes something is asked for first. */
export function needsYes({ capability }: Pick<JudgedTool, 'capability'>): boolean {
  return capability === 'write' || capability === 'delete';
}
