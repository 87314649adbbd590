// Which events a session gets, and whether it may read message content.
import { type APIMessage, GatewayDispatchEvents as Event, GatewayIntentBits as Intent } from 'discord-api-types/v10';
import type { Dispatch } from '../state/world.ts';

/** The intents for guilds and direct messages; other events go to every session. */
const NEEDED: Partial<Record<Event, { guild?: Intent; direct?: Intent }>> = {
  [Event.MessageCreate]: { guild: Intent.GuildMessages, direct: Intent.DirectMessages },
  [Event.MessageUpdate]: { guild: Intent.GuildMessages, direct: Intent.DirectMessages },
  [Event.MessageDelete]: { guild: Intent.GuildMessages, direct: Intent.DirectMessages },
  [Event.MessageReactionAdd]: { guild: Intent.GuildMessageReactions, direct: Intent.DirectMessageReactions },
  [Event.MessageReactionRemove]: { guild: Intent.GuildMessageReactions, direct: Intent.DirectMessageReactions },
  [Event.MessageReactionRemoveAll]: { guild: Intent.GuildMessageReactions, direct: Intent.DirectMessageReactions },
  [Event.MessagePollVoteAdd]: { guild: Intent.GuildMessagePolls, direct: Intent.DirectMessagePolls },
  [Event.MessagePollVoteRemove]: { guild: Intent.GuildMessagePolls, direct: Intent.DirectMessagePolls },
  [Event.TypingStart]: { guild: Intent.GuildMessageTyping, direct: Intent.DirectMessageTyping },
  [Event.ChannelCreate]: { guild: Intent.Guilds },
  [Event.ChannelUpdate]: { guild: Intent.Guilds },
  [Event.ChannelDelete]: { guild: Intent.Guilds },
  [Event.ThreadCreate]: { guild: Intent.Guilds },
  [Event.ThreadUpdate]: { guild: Intent.Guilds },
  [Event.ThreadDelete]: { guild: Intent.Guilds },
  [Event.ThreadMembersUpdate]: { guild: Intent.Guilds },
  [Event.GuildCreate]: { guild: Intent.Guilds },
  [Event.GuildDelete]: { guild: Intent.Guilds },
  [Event.GuildMemberAdd]: { guild: Intent.GuildMembers },
  [Event.GuildMemberRemove]: { guild: Intent.GuildMembers },
  [Event.GuildMemberUpdate]: { guild: Intent.GuildMembers },
};

export const PRIVILEGED = Intent.GuildMembers | Intent.GuildPresences | Intent.MessageContent;

export const hasIntent = (intents: number, intent: Intent): boolean => (intents & intent) !== 0;

export function hears(intents: number, { event, guildId }: Dispatch): boolean {
  const needed = NEEDED[event]?.[guildId === undefined ? 'direct' : 'guild'];
  return needed === undefined || hasIntent(intents, needed);
}

/** Without the intent the bot reads only its own messages, direct messages and those that mention it. */
export function readable(dispatch: Dispatch, { intents, botId }: { intents: number; botId: string }): object {
  const { event, data, guildId } = dispatch;
  if (event !== Event.MessageCreate && event !== Event.MessageUpdate) return data;
  if (guildId === undefined || hasIntent(intents, Intent.MessageContent)) return data;
  const { author, mentions }: Pick<APIMessage, 'author' | 'mentions'> = Object(data);
  if (author.id === botId || mentions.some(({ id }) => id === botId)) return data;
  const { poll: _, ...rest }: APIMessage = Object(data);
  return { ...rest, content: '', embeds: [], attachments: [], components: [] };
}
