// The message of an answer that was sent and not noted down. Discord itself knows a nonce for some minutes only.
import type { SendableChannels } from 'discord.js';
import { isRefusal } from '../base/discord-errors.ts';
import { ownMessagesAfter } from './own-messages.ts';

interface Missing {
  channel: SendableChannels;
  claim: string;
  /** The messages that were noted down; each one is before the next is sent, so at most one is missing. */
  ids: readonly string[];
  /** What the first one replies to. */
  replyTo: string | undefined;
  /** What it shows when it is one without a button: those are sent when the answer is known to its end. */
  content: string | undefined;
}

export async function strayReply({ channel, claim, ids, replyTo, content }: Missing): Promise<string | undefined> {
  try {
    const own = await ownMessagesAfter(channel, claim);
    const stray = own.find((message) => {
      if (ids.includes(message.id)) return false;
      if (message.components.length > 0) return JSON.stringify(message.components).includes(`:${claim}"`);
      const isInPlace = ids.length > 0 || (replyTo !== undefined && message.reference?.messageId === replyTo);
      return isInPlace && message.content === content?.trim();
    });
    return stray?.id;
  } catch (error) {
    if (isRefusal(error)) return undefined; // where it may not read
    throw error;
  }
}
