// Finds the message of an answer that was sent but not recorded. Discord remembers nonces only for minutes.
import { isRefusal } from '../base/discord-errors.ts';
import type { AnswerChannel } from './interaction-channel.ts';
import { ownMessagesAfter } from './own-messages.ts';

interface UnrecordedReply {
  channel: AnswerChannel;
  claim: string;
  /** Recorded messages. Each is recorded before the next is sent, so at most one is missing. */
  ids: readonly string[];
  /** The message that the first one replies to. */
  replyTo: string | undefined;
  /** Its content if it has no button: such messages are sent only when the answer is complete. */
  content: string | undefined;
}

export async function findUnrecordedReply({
  channel,
  claim,
  ids,
  replyTo,
  content,
}: UnrecordedReply): Promise<string | undefined> {
  try {
    const own = await ownMessagesAfter(channel, claim);
    const found = own.find((message) => {
      if (ids.includes(message.id)) return false;
      if (message.components.length > 0) return JSON.stringify(message.components).includes(`:${claim}"`);
      const isFollowing = ids.length > 0 || (replyTo !== undefined && message.reference?.messageId === replyTo);
      return isFollowing && message.content === content?.trim();
    });
    return found?.id;
  } catch (error) {
    if (isRefusal(error)) return undefined; // the bot may not read the history
    throw error;
  }
}
