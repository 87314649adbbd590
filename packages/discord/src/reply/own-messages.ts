// What the bot wrote after something: a process that was killed may have sent messages that it could not note down.
import type { Message, SendableChannels } from 'discord.js';

/** As many as Discord gives at once. */
const LOOKED_THROUGH = 100;

export async function ownMessagesAfter(channel: SendableChannels, id: string): Promise<Message[]> {
  const found = await channel.messages.fetch({ after: id, limit: LOOKED_THROUGH });
  return [...found.values()].filter(({ author, client }) => author.id === client.user.id);
}
