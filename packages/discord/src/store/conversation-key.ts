// Which conversation a message belongs to. Direct messages have one of their own that no guild ever sees.

export interface Place {
  guildId: string | null;
  /** Of the thread when it is one. */
  channelId: string;
  userId: string;
}

/** channel: everybody in a channel or thread talks to the bot together. user: each for themselves. */
export type ConversationScope = 'channel' | 'user';

export function conversationKey({ guildId, channelId, userId }: Place, scope: ConversationScope): string {
  if (guildId === null) return `dm:${userId}`;
  const channel = `${guildPrefix(guildId)}${channelId}`;
  return scope === 'user' ? `${channel}:${userId}` : channel;
}

/** The guild that a conversation is in, by its name. */
export function guildOf(conversation: string): string | undefined {
  return /^guild:(\d+):/.exec(conversation)?.[1];
}

/** How the names of all conversations of a guild begin. */
export function guildPrefix(guildId: string): string {
  return `guild:${guildId}:`;
}
