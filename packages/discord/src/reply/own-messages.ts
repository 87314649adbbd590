// Finds and deletes messages of the bot. A killed process may have sent some that it did not record.
import { type Message, RESTJSONErrorCodes } from 'discord.js';
import { hasErrorCode } from '../base/discord-errors.ts';
import { type AnswerChannel, InteractionChannel } from './interaction-channel.ts';

/** The maximum of one request. */
const PAGE_SIZE = 100;

/** In a channel that the bot cannot read, none are found. */
export async function ownMessagesAfter(channel: AnswerChannel, id: string): Promise<Message[]> {
  if (channel instanceof InteractionChannel) return [];
  const found = await channel.messages.fetch({ after: id, limit: PAGE_SIZE });
  return [...found.values()].filter(({ author, client }) => author.id === client.user.id);
}

/** Does nothing if the message was deleted already. */
export async function deleteMessage(channel: AnswerChannel, id: string): Promise<void> {
  await channel.messages.delete(id).catch((error) => {
    if (!hasErrorCode(error, RESTJSONErrorCodes.UnknownMessage)) throw error;
  });
}
