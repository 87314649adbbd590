// Typing indicators.
import { type APIUser, GatewayDispatchEvents } from 'discord-api-types/v10';
import type { Channel } from '../state/records.ts';
import { memberJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

export function startTyping(world: World, channel: Channel, user: APIUser): void {
  const at = Date.now();
  world.typing.push({ channelId: channel.id, userId: user.id, at });
  const member = world.guildOf(channel)?.members.get(user.id);
  world.dispatch({
    event: GatewayDispatchEvents.TypingStart,
    data: {
      channel_id: channel.id,
      user_id: user.id,
      timestamp: Math.floor(at / 1000),
      ...(member && { guild_id: channel.guildId, member: memberJson(member) }),
    },
    guildId: channel.guildId,
    channel,
  });
  world.show({ kind: 'typing', channel, user });
}
