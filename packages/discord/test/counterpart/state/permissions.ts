// Computes permissions as Discord documents it.
import { ChannelType, PermissionFlagsBits } from 'discord-api-types/v10';
import { missingAccess, missingPermissions } from './api-error.ts';
import type { Channel, Guild } from './records.ts';
import type { World } from './world.ts';

export type PermissionName = keyof typeof PermissionFlagsBits;

const ALL = Object.values(PermissionFlagsBits).reduce((sum, bit) => sum | bit, 0n);

export function permissionBits(names: readonly PermissionName[]): bigint {
  return names.reduce((sum, name) => sum | PermissionFlagsBits[name], 0n);
}

/** The default permissions of @everyone in a text channel. */
export const TEXT_PERMISSIONS: readonly PermissionName[] = [
  'ViewChannel',
  'SendMessages',
  'EmbedLinks',
  'AttachFiles',
  'ReadMessageHistory',
  'AddReactions',
  'UseApplicationCommands',
  'UseExternalEmojis',
  'UseExternalApps',
  'SendPolls',
];

const DIRECT_PERMISSIONS = permissionBits([...TEXT_PERMISSIONS, 'PinMessages']);

export function guildPermissions(guild: Guild, userId: string): bigint {
  const member = guild.members.get(userId);
  if (!member) return 0n;
  if (guild.ownerId === userId) return ALL;
  let bits = 0n;
  for (const id of [guild.id, ...member.roles]) bits |= BigInt(guild.roles.get(id)?.permissions ?? 0);
  return (bits & PermissionFlagsBits.Administrator) === 0n ? bits : ALL;
}

export function channelPermissions(world: World, channel: Channel, userId: string): bigint {
  const guild = world.guildOf(channel);
  if (!guild) return isInDirect(world, channel, userId) ? DIRECT_PERMISSIONS : 0n;
  const base = guildPermissions(guild, userId);
  if (base === ALL) return ALL;
  const { overwrites } = channel.thread && channel.parentId ? world.channel(channel.parentId) : channel;
  const roles = guild.members.get(userId)?.roles ?? [];
  let bits = base;
  const apply = (ids: readonly string[]) => {
    const chosen = overwrites.filter(({ id }) => ids.includes(id));
    for (const { deny } of chosen) bits &= ~BigInt(deny);
    for (const { allow } of chosen) bits |= BigInt(allow);
  };
  apply([guild.id]);
  apply(roles);
  apply([userId]);
  const hidden = (bits & PermissionFlagsBits.ViewChannel) === 0n;
  const foreign =
    channel.type === ChannelType.PrivateThread &&
    !channel.thread?.members.has(userId) &&
    (bits & PermissionFlagsBits.ManageThreads) === 0n;
  return hidden || foreign ? 0n : bits;
}

function isInDirect(world: World, { people, recipient }: Channel, userId: string): boolean {
  if (people) return people.some(({ id }) => id === userId);
  return userId === world.bot.id || userId === recipient?.id;
}

export function can(
  world: World,
  { userId, channel, permission }: { userId: string; channel: Channel; permission: PermissionName },
): boolean {
  return (channelPermissions(world, channel, userId) & PermissionFlagsBits[permission]) !== 0n;
}

/** Throws Discord's error for a bot that cannot see the channel or lacks a permission. */
export function demand(world: World, channel: Channel, ...permissions: PermissionName[]): void {
  const userId = world.bot.id;
  if (!can(world, { userId, channel, permission: 'ViewChannel' })) throw missingAccess();
  for (const permission of permissions) if (!can(world, { userId, channel, permission })) throw missingPermissions();
}

export function sendPermission(channel: Channel): PermissionName {
  return channel.thread ? 'SendMessagesInThreads' : 'SendMessages';
}
