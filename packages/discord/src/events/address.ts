// Whether a message is addressed to the bot. Mass mentions and messages of bots are not.
import { type Message, MessageType } from 'discord.js';

export function isForBot(message: Message): boolean {
  const { author, client, channel, mentions } = message;
  if (author.bot || message.system || message.webhookId !== null) return false;
  if (message.type !== MessageType.Default && message.type !== MessageType.Reply) return false;
  if (message.guildId === null) return true;
  const me = client.user.id;
  if (mentions.users.has(me) || mentions.repliedUser?.id === me) return true;
  return channel.isThread() && channel.ownerId === me && !mentions.everyone;
}
