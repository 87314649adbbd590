// REST: guilds with their members, roles and channels.
import { ChannelType, GatewayDispatchEvents, type RESTPatchAPIChannelJSONBody } from 'discord-api-types/v10';
import { changeThread } from '../activity/threads.ts';
import type { Call, Routes } from '../http/call.ts';
import { Form } from '../rules/form.ts';
import { missingPermissions, unknownGuild, unknownMember, unknownRole } from '../state/api-error.ts';
import { demand, guildPermissions, type PermissionName, permissionBits } from '../state/permissions.ts';
import type { Guild, Member } from '../state/records.ts';
import { channelJson, guildJson, memberJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

export function guildRoutes(world: World): Routes {
  const guildOf = (call: Call) => {
    const guild = world.guild(call.param('guild'));
    if (!guild.members.has(world.bot.id)) throw unknownGuild();
    return guild;
  };
  const memberOf = (call: Call): Member => {
    const member = guildOf(call).members.get(call.param('user'));
    if (!member) throw unknownMember();
    return member;
  };
  const demandInGuild = (guild: Guild, permission: PermissionName) => {
    if ((guildPermissions(guild, world.bot.id) & permissionBits([permission])) === 0n) throw missingPermissions();
  };
  const changeRoles = (call: Call, change: (roles: Set<string>, roleId: string) => void) => {
    const guild = guildOf(call);
    demandInGuild(guild, 'ManageRoles');
    if (!guild.roles.has(call.param('role'))) throw unknownRole();
    const member = memberOf(call);
    const roles = new Set(member.roles);
    change(roles, call.param('role'));
    setRoles(world, guild, { member, roles: [...roles] });
    return undefined;
  };
  const limited = (call: Call, members: Member[]) => members.slice(0, Number(call.query.get('limit') ?? 1));

  return {
    'GET /guilds/:guild': (call) => guildJson(guildOf(call)),
    'GET /guilds/:guild/channels': (call) =>
      world
        .channelsOf(guildOf(call))
        .filter(({ thread }) => !thread)
        .map((channel) => channelJson(world, channel)),
    'GET /guilds/:guild/roles': (call) => [...guildOf(call).roles.values()],
    'GET /guilds/:guild/members': (call) => {
      const after = BigInt(call.query.get('after') ?? 0);
      const members = [...guildOf(call).members.values()].filter(({ user }) => BigInt(user.id) > after);
      return limited(call, members).map(memberJson);
    },
    'GET /guilds/:guild/members/search': (call) => {
      const start = (call.query.get('query') ?? '').toLowerCase();
      const members = [...guildOf(call).members.values()].filter(({ user, nick }) =>
        [user.username, user.global_name, nick].some((name) => name?.toLowerCase().startsWith(start)),
      );
      return limited(call, members).map(memberJson);
    },
    'GET /guilds/:guild/members/:user': (call) => memberJson(memberOf(call)),
    'PUT /guilds/:guild/members/:user/roles/:role': (call) => changeRoles(call, (roles, id) => roles.add(id)),
    'DELETE /guilds/:guild/members/:user/roles/:role': (call) => changeRoles(call, (roles, id) => roles.delete(id)),
    'POST /guilds/:guild/channels': (call) => {
      const guild = guildOf(call);
      demandInGuild(guild, 'ManageChannels');
      const body = call.json<{ name: string; type?: ChannelType; topic?: string }>();
      const form = new Form();
      form.text('name', body.name, { min: 1, max: 100 });
      form.done();
      const { name, type = ChannelType.GuildText, topic = null } = body;
      const channel = world.addChannel({ guildId: guild.id, name, type, topic });
      const data = channelJson(world, channel);
      world.dispatch({ event: GatewayDispatchEvents.ChannelCreate, data, guildId: guild.id, channel });
      return data;
    },
    'GET /channels/:channel': (call) => {
      const channel = world.channel(call.param('channel'));
      demand(world, channel);
      return channelJson(world, channel);
    },
    'PATCH /channels/:channel': (call) => {
      const channel = world.channel(call.param('channel'));
      const body = call.json<RESTPatchAPIChannelJSONBody>();
      const form = new Form();
      form.text('name', body.name, { max: 100 });
      form.done();
      if (channel.thread) {
        const own = channel.thread.ownerId === world.bot.id;
        const reopens = body.archived === false && !channel.thread.locked;
        const isFree = (own || reopens) && body.locked === undefined;
        demand(world, channel, ...(isFree ? [] : (['ManageThreads'] as const)));
        const { name, archived, locked } = body;
        changeThread(world, channel, {
          ...(name != null && { name }),
          ...(archived !== undefined && { archived }),
          ...(locked !== undefined && { locked }),
        });
      } else {
        demand(world, channel, 'ManageChannels');
        if (body.name != null) channel.name = body.name;
        if (body.topic !== undefined) channel.topic = body.topic;
        const data = channelJson(world, channel);
        world.dispatch({ event: GatewayDispatchEvents.ChannelUpdate, data, guildId: channel.guildId, channel });
      }
      return channelJson(world, channel);
    },
    'DELETE /channels/:channel': (call) => {
      const channel = world.channel(call.param('channel'));
      demand(world, channel, channel.thread ? 'ManageThreads' : 'ManageChannels');
      return removeChannel(world, channel.id);
    },
  };
}

export function removeChannel(world: World, id: string): object {
  const channel = world.channel(id);
  const data = channelJson(world, channel);
  const event = channel.thread ? GatewayDispatchEvents.ThreadDelete : GatewayDispatchEvents.ChannelDelete;
  world.dispatch({ event, data, guildId: channel.guildId, channel });
  world.channels.delete(id);
  return data;
}

export function setRoles(world: World, guild: Guild, { member, roles }: { member: Member; roles: string[] }): void {
  member.roles = roles;
  const data = { ...memberJson(member), guild_id: guild.id };
  world.dispatch({ event: GatewayDispatchEvents.GuildMemberUpdate, data, guildId: guild.id });
}
