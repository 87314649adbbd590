// The key of the conversation that a message belongs to. Direct messages have their own, which no guild can read.

export interface Place {
  /** Null in direct messages, and where the bot is not installed. */
  guildId: string | null;
  /** The id of the thread for messages in a thread. */
  channelId: string;
  userId: string;
  /** The person uses the bot where it is not installed, in a server or a group. */
  isRemote?: boolean;
}

/** channel: all members share one conversation per channel or thread. user: each member has their own. */
export type ConversationScope = 'channel' | 'user';

export function conversationKey({ guildId, channelId, userId, isRemote }: Place, scope: ConversationScope): string {
  // apart from the direct messages, because others in the channel see the answers
  if (isRemote) return `app:${channelId}:${userId}`;
  if (guildId === null) return `dm:${userId}`;
  const channel = `${guildPrefix(guildId)}${channelId}`;
  return scope === 'user' ? `${channel}:${userId}` : channel;
}

/** The guild id in a conversation key. */
export function guildOf(conversation: string): string | undefined {
  return /^guild:(\d+):/.exec(conversation)?.[1];
}

/** The prefix of all conversation keys of a guild. */
export function guildPrefix(guildId: string): string {
  return `guild:${guildId}:`;
}
