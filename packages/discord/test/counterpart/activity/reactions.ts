// Reactions: adding and removing them, and their routes.
import { type APIUser, GatewayDispatchEvents } from 'discord-api-types/v10';
import type { Call, Routes } from '../http/call.ts';
import { tooManyReactions, unknownEmoji } from '../state/api-error.ts';
import { demand } from '../state/permissions.ts';
import type { StoredMessage } from '../state/records.ts';
import { emojiJson, memberJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

const KINDS = 20;
const EMOJI = /^(\p{RGI_Emoji}|[0-9#*]\u{FE0F}?\u{20E3}|\p{Emoji}\u{FE0F}?|\w{2,32}:\d+)$/v;

interface Reaction {
  message: StoredMessage;
  user: APIUser;
  emoji: string;
}

export function addReaction(world: World, reaction: Reaction): void {
  const { message, user, emoji } = reaction;
  if (!EMOJI.test(emoji)) throw unknownEmoji();
  const users = message.reactions.get(emoji) ?? new Set();
  if (!message.reactions.has(emoji) && message.reactions.size >= KINDS) throw tooManyReactions();
  if (users.has(user.id)) return;
  message.reactions.set(emoji, users.add(user.id));
  tell(world, GatewayDispatchEvents.MessageReactionAdd, reaction);
}

export function removeReaction(world: World, reaction: Reaction): void {
  const { message, user, emoji } = reaction;
  const users = message.reactions.get(emoji);
  if (!users?.delete(user.id)) return;
  if (users.size === 0) message.reactions.delete(emoji);
  tell(world, GatewayDispatchEvents.MessageReactionRemove, reaction);
}

function tell(world: World, event: GatewayDispatchEvents, { message, user, emoji }: Reaction): void {
  const channel = world.channel(message.channelId);
  const member = world.guildOf(channel)?.members.get(user.id);
  world.dispatch({
    event,
    data: {
      user_id: user.id,
      channel_id: channel.id,
      message_id: message.id,
      message_author_id: message.author.id,
      emoji: emojiJson(emoji),
      burst: false,
      type: 0,
      ...(member && { guild_id: channel.guildId, member: memberJson(member) }),
    },
    guildId: channel.guildId,
    channel,
  });
  world.show({ kind: 'reaction', channel, message, user });
}

export function reactionRoutes(world: World): Routes {
  const messageOf = (call: Call) => world.message(world.channel(call.param('channel')), call.param('message'));
  const at = '/channels/:channel/messages/:message/reactions';
  return {
    [`PUT ${at}/:emoji/@me`]: (call) => {
      demand(world, world.channel(call.param('channel')), 'ReadMessageHistory', 'AddReactions');
      addReaction(world, { message: messageOf(call), user: world.bot, emoji: call.param('emoji') });
      return undefined;
    },
    [`DELETE ${at}/:emoji/@me`]: (call) => {
      removeReaction(world, { message: messageOf(call), user: world.bot, emoji: call.param('emoji') });
      return undefined;
    },
    [`DELETE ${at}/:emoji/:user`]: (call) => {
      demand(world, world.channel(call.param('channel')), 'ManageMessages');
      const user = world.user(call.param('user'));
      removeReaction(world, { message: messageOf(call), user, emoji: call.param('emoji') });
      return undefined;
    },
    [`DELETE ${at}`]: (call) => {
      const channel = world.channel(call.param('channel'));
      demand(world, channel, 'ManageMessages');
      const message = messageOf(call);
      message.reactions.clear();
      const data = { channel_id: channel.id, message_id: message.id, guild_id: channel.guildId };
      const event = GatewayDispatchEvents.MessageReactionRemoveAll;
      world.dispatch({ event, data, guildId: channel.guildId, channel });
      return undefined;
    },
    [`GET ${at}/:emoji`]: (call) =>
      [...(messageOf(call).reactions.get(call.param('emoji')) ?? [])].map((id) => world.user(id)),
  };
}
