// The permissions of the bot in a channel.
import { type Channel, PermissionFlagsBits as Permission, type PermissionResolvable } from 'discord.js';

/** Always true in direct messages. */
export function botCan(channel: Channel, ...permissions: PermissionResolvable[]): boolean {
  if (channel.isDMBased()) return true;
  const me = channel.guild.members.me;
  return me === null || channel.permissionsFor(me).has(permissions);
}

export function botCanSend(channel: Channel): boolean {
  const sending = channel.isThread() ? Permission.SendMessagesInThreads : Permission.SendMessages;
  return botCan(channel, Permission.ViewChannel, sending);
}
