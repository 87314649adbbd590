// Whether the bot answers a member, and which access profile applies.
import type { GuildMember } from 'discord.js';
import { PermissionFlagsBits } from 'discord.js';
import { type JudgedTool, type ProfileName, profiles } from 'pocket-agent';
import type { GuildSettings } from '../store/guild-settings.ts';

/** The widest profile of the member's roles, else the default of the guild. */
export function profileOf(member: GuildMember | null, settings: GuildSettings): ProfileName {
  const roleProfiles = [...(member?.roles.cache.keys() ?? [])].flatMap((role) => settings.profiles[role] ?? []);
  return roleProfiles.sort((a, b) => profiles[b].length - profiles[a].length)[0] ?? settings.profile;
}

/** `channelIds`: the channel, and the parent of a thread. */
export function isAllowed(
  { channels, roles }: GuildSettings,
  { channelIds, member }: { channelIds: readonly string[]; member: GuildMember | null },
): boolean {
  if (channels.length > 0 && !channelIds.some((id) => channels.includes(id))) return false;
  if (roles.length === 0 || member?.permissions.has(PermissionFlagsBits.ManageGuild)) return true;
  return roles.some((role) => member?.roles.cache.has(role));
}

/** The ids of a channel and, for a thread, its parent. */
export function channelIdsOf(channel: { id: string; parentId?: string | null; isThread(): boolean } | null): string[] {
  if (!channel) return [];
  return channel.isThread() && channel.parentId ? [channel.id, channel.parentId] : [channel.id];
}

/** Tools that change or delete something need an approval. */
export function needsApproval({ capability }: Pick<JudgedTool, 'capability'>): boolean {
  return capability === 'write' || capability === 'delete';
}
