// What the bot and members may do in a channel.
import {
  type Channel,
  type GuildMember,
  type GuildTextBasedChannel,
  PermissionFlagsBits as Permission,
  type PermissionResolvable,
} from 'discord.js';
import { InteractionChannel } from '../reply/interaction-channel.ts';

/** Always true in direct messages, and for answers to interactions. */
export function botCan(channel: Channel | InteractionChannel, ...permissions: PermissionResolvable[]): boolean {
  if (channel instanceof InteractionChannel || channel.isDMBased()) return true;
  const me = channel.guild.members.me;
  return me === null || channel.permissionsFor(me).has(permissions);
}

export function botCanSend(channel: Channel | InteractionChannel): boolean {
  return channel instanceof InteractionChannel || botCan(channel, Permission.ViewChannel, sendingIn(channel));
}

export function memberCanSend(channel: GuildTextBasedChannel, member: GuildMember): boolean {
  return channel.permissionsFor(member).has([Permission.ViewChannel, sendingIn(channel)]);
}

function sendingIn(channel: Channel): bigint {
  return channel.isThread() ? Permission.SendMessagesInThreads : Permission.SendMessages;
}
