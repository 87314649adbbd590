// Channels: get, create, change, archive.
import { createHash } from 'node:crypto';
import { type Call, created, type Fields, idField, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Channel, ChannelType, User } from '../world/model.ts';
import type { World } from '../world/world.ts';
import { addMember, join } from './channel-members.ts';

export function channelJson(world: World, channel: Channel): Record<string, unknown> {
  return {
    ...channel,
    extra_update_at: 0,
    scheme_id: null,
    props: null,
    group_constrained: null,
    ...(world.atLeast(7) ? { shared: null, policy_id: null } : { last_root_post_at: undefined }),
    ...(world.atLeast(11)
      ? { banner_info: { enabled: false, text: '', background_color: '' }, policy_enforced: false }
      : {}),
  };
}

export function storeChannel(
  world: World,
  given: Pick<Channel, 'team_id' | 'type' | 'name' | 'display_name' | 'creator_id'> & Partial<Channel>,
): Channel {
  const now = world.now();
  const channel: Channel = {
    id: world.newId(),
    create_at: now,
    update_at: now,
    delete_at: 0,
    header: '',
    purpose: '',
    last_post_at: now,
    last_root_post_at: now,
    total_msg_count: 0,
    total_msg_count_root: 0,
    ...given,
  };
  world.channels.set(channel.id, channel);
  world.members.set(channel.id, new Map());
  world.timeline.set(channel.id, []);
  return channel;
}

/** Gets or creates the direct or group channel of these users. */
export function storeConversation(world: World, creator: User, users: User[]): Channel {
  const ids = users.map(({ id }) => id).sort();
  const type: ChannelType = ids.length > 2 ? 'G' : 'D';
  const name = type === 'D' ? `${ids[0]}__${ids[1]}` : createHash('sha1').update(ids.join('')).digest('hex');
  const known = [...world.channels.values()].find((channel) => channel.name === name);
  if (known) return known;
  const names = users.map(({ username }) => username).sort();
  const channel = storeChannel(world, {
    team_id: '',
    type,
    name,
    display_name: type === 'D' ? '' : names.join(', '),
    creator_id: creator.id,
  });
  for (const id of new Set(ids)) addMember(world, channel.id, id);
  const data = { creator_id: creator.id, teammate_id: ids.find((id) => id !== creator.id) ?? creator.id };
  world.publish(type === 'D' ? 'direct_added' : 'group_added', data, { channel_id: channel.id });
  return channel;
}

const namePattern = /^[a-z0-9]+([a-z\-_0-9]+|(__)?)[a-z0-9]*$/;

export function checkTexts(fields: Fields): void {
  const refuse = (what: string, message: string) =>
    new ApiError(400, `model.channel.is_valid.${what}.app_error`, { message });
  const name = text(fields, 'name', 'ok');
  if (!namePattern.test(name) || name.length > 64) {
    throw refuse('1_or_more', 'Name must be 1 or more lowercase alphanumeric characters.');
  }
  const display = [...text(fields, 'display_name', 'ok')].length;
  if (display > 64 || display === 0) throw refuse('display_name', 'Invalid display name.');
  if ([...text(fields, 'purpose')].length > 250) throw refuse('purpose', 'Invalid purpose.');
  if ([...text(fields, 'header')].length > 1024) throw refuse('header', 'Invalid header.');
}

export function byName(world: World, teamId: string, name: string): Channel | undefined {
  return [...world.channels.values()].find((channel) => channel.team_id === teamId && channel.name === name);
}

function create(call: Call): Channel {
  const { world, user } = call;
  const body = call.fields('channel');
  const type = text(body, 'type');
  if (type === 'D' || type === 'G') {
    const message = 'Must use createDirectChannel API service for direct message channel creation.';
    throw new ApiError(400, 'api.channel.create_channel.direct_channel.app_error', { message });
  }
  if (type !== 'O' && type !== 'P') {
    throw new ApiError(400, 'model.channel.is_valid.type.app_error', { message: 'Invalid type.' });
  }
  const team = world.teamFor(
    user,
    idField(body, 'team_id'),
    type === 'O' ? 'create_public_channel' : 'create_private_channel',
  );
  checkTexts({ name: '', display_name: '', ...body });
  const name = text(body, 'name');
  if (byName(world, team.id, name)) {
    const message = 'A channel with that name already exists on the same team.';
    throw new ApiError(400, 'store.sql_channel.save_channel.exists.app_error', { message });
  }
  const channel = storeChannel(world, {
    team_id: team.id,
    type,
    name,
    display_name: text(body, 'display_name'),
    purpose: text(body, 'purpose'),
    header: text(body, 'header'),
    creator_id: user.id,
  });
  join(world, channel, { user, by: user, admin: true });
  world.publish('channel_created', { channel_id: channel.id, team_id: team.id }, { user_id: user.id });
  return channel;
}

function conversation(
  call: Call,
  { least, most, refusal }: { least: number; most: number; refusal: ApiError },
): Channel {
  const ids = call.strings('user_ids');
  if (!ids.every((id) => /^[a-zA-Z0-9]{26}$/.test(id))) throw invalidBody('user_id');
  const all = most > 2 ? [...new Set([...ids, call.user.id])] : ids;
  if (all.length < least || all.length > most) throw refusal;
  if (!all.includes(call.user.id) && !call.world.isAdmin(call.user)) throw forbidden('manage_system');
  return storeConversation(
    call.world,
    call.user,
    all.map((id) => call.world.user(id)),
  );
}

function find(call: Call, teamId: string): Channel {
  const { world } = call;
  const channel = byName(world, teamId, call.param('channel_name'));
  // hidden channels are reported as missing
  if (!channel || !world.mayFind(call.user, channel) || (channel.delete_at && !call.flag('include_deleted'))) {
    throw notFound('app.channel.get_by_name.missing.app_error', 'Channel does not exist.');
  }
  return channel;
}

/** Channels of a user in a team, including direct and group channels. */
export function channelsOf(call: Call, teamId?: string): Channel[] {
  const user = call.self();
  if (teamId) call.world.teamFor(user, teamId);
  return [...call.world.channels.values()]
    .filter((channel) => call.world.member(channel.id, user.id))
    .filter((channel) => !teamId || channel.team_id === '' || channel.team_id === teamId)
    .filter((channel) => !channel.delete_at || call.flag('include_deleted'))
    .sort((a, b) => (a.display_name < b.display_name ? -1 : 1));
}

function publicChannels(call: Call): Channel[] {
  const team = call.world.teamFor(call.user, call.param('team_id'), 'list_team_channels');
  return [...call.world.channels.values()]
    .filter((channel) => channel.team_id === team.id && channel.type === 'O' && !channel.delete_at)
    .sort((a, b) => (a.display_name < b.display_name ? -1 : 1));
}

/** Public channels, archived ones too. */
function search(call: Call): Channel[] {
  const { world } = call;
  const team = world.teamFor(call.user, call.param('team_id'), 'list_team_channels');
  const words = text(call.fields('channel_search'), 'term').trim().toLowerCase().split(/\s+/);
  return [...world.channels.values()]
    .filter((channel) => channel.team_id === team.id && channel.type === 'O')
    .filter(({ name, display_name, purpose }) => {
      const searched = `${name} ${display_name} ${purpose}`.toLowerCase();
      return words.every((word) => searched.includes(word));
    })
    .sort((a, b) => (a.display_name < b.display_name ? -1 : 1));
}

function all(call: Call, channels: Channel[]): Record<string, unknown>[] {
  return channels.map((channel) => channelJson(call.world, channel));
}

export const channelRoutes: Routes = {
  'POST /channels': (call) => created(channelJson(call.world, create(call))),
  'POST /channels/direct': (call) => {
    const refusal = invalidBody('user_ids');
    return created(channelJson(call.world, conversation(call, { least: 2, most: 2, refusal })));
  },
  'POST /channels/group': (call) => {
    const message = 'Group message channels must contain at least 3 and no more than 8 users.';
    const refusal = new ApiError(400, 'api.channel.create_group.bad_size.app_error', { message });
    return created(channelJson(call.world, conversation(call, { least: 3, most: 8, refusal })));
  },
  'GET /channels/{channel_id}': (call) =>
    ok(channelJson(call.world, call.world.findable(call.user, call.param('channel_id')))),
  'GET /teams/{team_id}/channels': (call) => ok(all(call, call.page(publicChannels(call)))),
  'POST /teams/{team_id}/channels/search': (call) => ok(all(call, search(call))),
  'POST /teams/{team_id}/channels/ids': (call) => {
    const ids = new Set(call.strings('channel_ids'));
    return ok(
      all(
        call,
        publicChannels(call).filter(({ id }) => ids.has(id)),
      ),
    );
  },
  'GET /teams/{team_id}/channels/name/{channel_name}': (call) =>
    ok(channelJson(call.world, find(call, call.world.team(call.param('team_id')).id))),
  'GET /teams/name/{team_name}/channels/name/{channel_name}': (call) => {
    const team = [...call.world.teams.values()].find(({ name }) => name === call.param('team_name'));
    if (!team) throw notFound('app.channel.get_by_name.missing.app_error', 'Channel does not exist.');
    return ok(channelJson(call.world, find(call, team.id)));
  },
  'GET /users/{user_id}/teams/{team_id}/channels': (call) =>
    ok(all(call, channelsOf(call, call.param('team_id'))), { etag: true }),
  'GET /users/{user_id}/channels': (call) => ok(all(call, channelsOf(call))),
};
