// What the bot and members may do in a channel.
import {
  type Channel,
  type GuildMember,
  type GuildTextBasedChannel,
  PermissionFlagsBits as Permission,
  type PermissionResolvable,
} from 'discord.js';

/** Always true in direct messages. */
export function botCan(channel: Channel, ...permissions: PermissionResolvable[]): boolean {
  if (channel.isDMBased()) return true;
  const me = channel.guild.members.me;
  return me === null || channel.permissionsFor(me).has(permissions);
}

export function botCanSend(channel: Channel): boolean {
  return botCan(channel, Permission.ViewChannel, sendingIn(channel));
}

export function memberCanSend(channel: GuildTextBasedChannel, member: GuildMember): boolean {
  return channel.permissionsFor(member).has([Permission.ViewChannel, sendingIn(channel)]);
}

function sendingIn(channel: Channel): bigint {
  return channel.isThread() ? Permission.SendMessagesInThreads : Permission.SendMessages;
}
