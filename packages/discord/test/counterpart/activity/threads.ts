// Threads: creating and changing them, and their routes.
import {
  ChannelType,
  GatewayDispatchEvents,
  type RESTPostAPIChannelMessagesThreadsJSONBody,
  type RESTPostAPIChannelThreadsJSONBody,
} from 'discord-api-types/v10';
import type { Routes } from '../http/call.ts';
import { Form } from '../rules/form.ts';
import { missingPermissions, threadExists, unknownChannel } from '../state/api-error.ts';
import { demand } from '../state/permissions.ts';
import type { Channel, StoredMessage } from '../state/records.ts';
import { channelJson, threadMemberJson } from '../state/to-json.ts';
import type { World } from '../state/world.ts';

interface NewThread {
  parent: Channel;
  name: string;
  ownerId: string;
  from?: StoredMessage;
  isPrivate?: boolean;
  autoArchiveMinutes?: number | undefined;
  invitable?: boolean | undefined;
}

export function startThread(world: World, options: NewThread): Channel {
  const { parent, name, ownerId, from, isPrivate = false, autoArchiveMinutes = 4320, invitable = true } = options;
  const form = new Form();
  form.text('name', name, { min: 1, max: 100 });
  if (![60, 1440, 4320, 10080].includes(autoArchiveMinutes)) {
    form.refuse('auto_archive_duration', 'BASE_TYPE_CHOICES: Value must be one of {60, 1440, 4320, 10080}.');
  }
  form.done();
  if (from && world.channels.has(from.id)) throw threadExists();
  const channel = world.addChannel({
    id: from?.id ?? world.ids.next(),
    type: isPrivate ? ChannelType.PrivateThread : ChannelType.PublicThread,
    name,
    parentId: parent.id,
    ...(parent.guildId !== undefined && { guildId: parent.guildId }),
    thread: {
      ownerId,
      archived: false,
      locked: false,
      invitable,
      autoArchiveMinutes,
      archivedAt: new Date().toISOString(),
      members: new Set([ownerId]),
    },
  });
  tell(world, GatewayDispatchEvents.ThreadCreate, channel, { newly_created: true });
  return channel;
}

export function changeThread(
  world: World,
  channel: Channel,
  change: { name?: string; archived?: boolean; locked?: boolean },
): void {
  if (!channel.thread) throw unknownChannel();
  const { name = channel.name, archived = channel.thread.archived, locked = channel.thread.locked } = change;
  channel.name = name;
  channel.thread = { ...channel.thread, archived, locked, archivedAt: new Date().toISOString() };
  tell(world, GatewayDispatchEvents.ThreadUpdate, channel);
}

export function joinThread(world: World, channel: Channel, userId: string): void {
  if (!channel.thread) throw unknownChannel();
  channel.thread.members.add(userId);
  // the bot learns of a private thread when it is added
  if (userId === world.bot.id) tell(world, GatewayDispatchEvents.ThreadCreate, channel);
  tellMembers(world, channel, { added_members: [threadMemberJson(channel, userId)] });
}

function leaveThread(world: World, channel: Channel, userId: string): void {
  if (!channel.thread) throw unknownChannel();
  tellMembers(world, channel, { removed_member_ids: [userId] });
  channel.thread.members.delete(userId);
}

function tell(world: World, event: GatewayDispatchEvents, channel: Channel, more: object = {}): void {
  world.dispatch({ event, data: { ...channelJson(world, channel), ...more }, guildId: channel.guildId, channel });
}

function tellMembers(world: World, channel: Channel, change: object): void {
  const event = GatewayDispatchEvents.ThreadMembersUpdate;
  const data = { id: channel.id, guild_id: channel.guildId, member_count: channel.thread?.members.size, ...change };
  world.dispatch({ event, data, guildId: channel.guildId, channel });
}

export function threadRoutes(world: World): Routes {
  const start = (thread: Omit<NewThread, 'ownerId'>) => {
    if (thread.parent.guildId === undefined || thread.parent.thread) throw missingPermissions();
    demand(world, thread.parent, thread.isPrivate ? 'CreatePrivateThreads' : 'CreatePublicThreads');
    return channelJson(world, startThread(world, { ...thread, ownerId: world.bot.id }));
  };
  const listed = (parent: Channel, fits: (thread: Channel) => boolean) => {
    const threads = [...world.channels.values()].filter((channel) => channel.parentId === parent.id && fits(channel));
    return {
      threads: threads.map((thread) => channelJson(world, thread)),
      members: [],
      has_more: false,
    };
  };

  return {
    'POST /channels/:channel/threads': (call) => {
      const body = call.json<RESTPostAPIChannelThreadsJSONBody>();
      return start({
        parent: world.channel(call.param('channel')),
        name: body.name,
        isPrivate: (body.type ?? ChannelType.PrivateThread) === ChannelType.PrivateThread,
        autoArchiveMinutes: body.auto_archive_duration,
        invitable: body.invitable,
      });
    },
    'POST /channels/:channel/messages/:message/threads': (call) => {
      const body = call.json<RESTPostAPIChannelMessagesThreadsJSONBody>();
      const parent = world.channel(call.param('channel'));
      const from = world.message(parent, call.param('message'));
      return start({ parent, from, name: body.name, autoArchiveMinutes: body.auto_archive_duration });
    },
    'GET /channels/:channel/threads/archived/public': (call) =>
      listed(
        world.channel(call.param('channel')),
        ({ type, thread }) => type === ChannelType.PublicThread && thread?.archived === true,
      ),
    'GET /channels/:channel/threads/archived/private': (call) =>
      listed(
        world.channel(call.param('channel')),
        ({ type, thread }) => type === ChannelType.PrivateThread && thread?.archived === true,
      ),
    'GET /guilds/:guild/threads/active': (call) => {
      const threads = world
        .channelsOf(world.guild(call.param('guild')))
        .filter(({ thread }) => thread?.archived === false);
      return { threads: threads.map((thread) => channelJson(world, thread)), members: [] };
    },
    'GET /channels/:channel/thread-members': (call) => {
      const channel = world.channel(call.param('channel'));
      return [...(channel.thread?.members ?? [])].map((id) => threadMemberJson(channel, id));
    },
    'PUT /channels/:channel/thread-members/:user': (call) => {
      const channel = world.channel(call.param('channel'));
      demand(world, channel);
      joinThread(world, channel, call.param('user') === '@me' ? world.bot.id : world.user(call.param('user')).id);
      return undefined;
    },
    'DELETE /channels/:channel/thread-members/:user': (call) => {
      const channel = world.channel(call.param('channel'));
      leaveThread(world, channel, call.param('user') === '@me' ? world.bot.id : call.param('user'));
      return undefined;
    },
  };
}
