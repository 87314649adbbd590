// REST: the bot, other users, direct messages and the application.
import { GatewayDispatchEvents, type RESTPatchAPICurrentUserJSONBody } from 'discord-api-types/v10';
import type { Routes } from '../http/call.ts';
import { ApiError } from '../state/api-error.ts';
import { applicationJson, channelJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

export function userRoutes(world: World): Routes {
  return {
    'GET /users/@me': () => world.bot,
    'PATCH /users/@me': (call) => {
      const { username } = call.json<RESTPatchAPICurrentUserJSONBody>();
      if (username !== undefined) world.bot.username = username;
      world.dispatch({ event: GatewayDispatchEvents.UserUpdate, data: world.bot });
      return world.bot;
    },
    'GET /users/@me/guilds': () =>
      [...world.guilds.values()]
        .filter((guild) => guild.members.has(world.bot.id))
        .map(({ id, name }) => ({ id, name, icon: null, owner: false, permissions: '0', features: [] })),
    'DELETE /users/@me/guilds/:guild': (call) => {
      const guild = world.guild(call.param('guild'));
      world.dispatch({ event: GatewayDispatchEvents.GuildDelete, data: { id: guild.id }, guildId: guild.id });
      world.guilds.delete(guild.id);
      return undefined;
    },
    'POST /users/@me/channels': (call) => {
      const user = world.user(call.json<{ recipient_id: string }>().recipient_id);
      if (user.bot) throw new ApiError(400, 50007, { message: 'Cannot send messages to this user' });
      return channelJson(world, world.directChannel(user));
    },
    'GET /users/:user': (call) => world.user(call.param('user')),
    'GET /applications/@me': () => applicationJson(world),
    'GET /oauth2/applications/@me': () => applicationJson(world),
    'GET /applications/:application/emojis': () => ({ items: [] }),
  };
}
