// What Discord lets the bot do in a channel.
import { type Channel, PermissionFlagsBits as Permission, type PermissionResolvable } from 'discord.js';

/** In direct messages everything is allowed. */
export function botMay(channel: Channel, ...permissions: PermissionResolvable[]): boolean {
  if (channel.isDMBased()) return true;
  const me = channel.guild.members.me;
  return me === null || channel.permissionsFor(me).has(permissions);
}

export function botMaySpeak(channel: Channel): boolean {
  const sending = channel.isThread() ? Permission.SendMessagesInThreads : Permission.SendMessages;
  return botMay(channel, Permission.ViewChannel, sending);
}
