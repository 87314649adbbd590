// Finds messages of the bot after an id: a killed process may have sent some that it did not record.
import type { Message, SendableChannels } from 'discord.js';

/** The maximum of one request. */
const PAGE_SIZE = 100;

export async function ownMessagesAfter(channel: SendableChannels, id: string): Promise<Message[]> {
  const found = await channel.messages.fetch({ after: id, limit: PAGE_SIZE });
  return [...found.values()].filter(({ author, client }) => author.id === client.user.id);
}
