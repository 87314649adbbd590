// Channel members and their read markers.

import { type Call, created, done, idField, ok, text, texts } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, notFound } from '../world/api-error.ts';
import type { Channel, ChannelMember, User } from '../world/model.ts';
import { storeSystemPost } from '../world/store-post.ts';
import { markViewed } from '../world/unread.ts';
import type { World } from '../world/world.ts';

export function addMember(world: World, channelId: string, userId: string, { admin = false } = {}): ChannelMember {
  const members = world.members.get(channelId);
  const known = members?.get(userId);
  if (known) return known;
  const member: ChannelMember = {
    channel_id: channelId,
    user_id: userId,
    roles: admin ? 'channel_user channel_admin' : 'channel_user',
    last_viewed_at: 0,
    msg_count: 0,
    mention_count: 0,
    msg_count_root: 0,
    mention_count_root: 0,
    notify_props: { desktop: 'default', email: 'default', mark_unread: 'all', push: 'default' },
    last_update_at: world.now(),
    scheme_user: true,
    scheme_admin: admin,
  };
  members?.set(userId, member);
  return member;
}

/** Adds a member, with system post and event. */
export function join(world: World, channel: Channel, who: { user: User; by: User; admin?: boolean }): ChannelMember {
  const known = world.member(channel.id, who.user.id);
  if (known) return known;
  const member = addMember(world, channel.id, who.user.id, { admin: who.admin ?? false });
  if (who.by === who.user) {
    storeSystemPost(world, channel, {
      type: 'system_join_channel',
      user: who.by,
      message: `${who.user.username} joined the channel.`,
    });
  } else {
    const message = `${who.user.username} added to the channel by ${who.by.username}.`;
    storeSystemPost(world, channel, { type: 'system_add_to_channel', user: who.by, message });
  }
  const data = { user_id: who.user.id, team_id: channel.team_id };
  world.publish('user_added', data, { channel_id: channel.id });
  return member;
}

function add(call: Call): ChannelMember[] {
  const { world, user } = call;
  const channel = world.channel(call.param('channel_id'));
  const body = call.fields('channel_member');
  const ids = texts(body, 'user_ids') ?? [idField(body, 'user_id')];
  if (channel.type === 'D' || channel.type === 'G') {
    throw new ApiError(400, 'api.channel.add_user_to_channel.type.app_error', {
      message: 'Can not add user to this channel type.',
    });
  }
  const joiningOneself = ids.length === 1 && ids[0] === user.id;
  const may = joiningOneself ? world.mayFind(user, channel) : world.member(channel.id, user.id) || world.isAdmin(user);
  if (!may) throw forbidden(channel.type === 'O' ? 'join_public_channels' : 'manage_private_channel_members');
  if (channel.delete_at) {
    throw new ApiError(400, 'api.channel.add_user_to_channel.deleted.app_error', {
      message: 'The channel has been archived.',
    });
  }
  return ids.map((id) => {
    const added = world.user(id);
    if (!world.teamMember(channel.team_id, id)) {
      throw notFound('app.team.get_member.missing.app_error', 'No team member found.');
    }
    return join(world, channel, { user: added, by: user });
  });
}

function remove(call: Call): void {
  const { world, user } = call;
  const channel = world.channel(call.param('channel_id'));
  const userId = call.param('user_id');
  if (channel.type === 'D' || channel.type === 'G') {
    throw new ApiError(400, 'api.channel.remove_channel_member.type.app_error', {
      message: 'Unable to remove user from this channel type.',
    });
  }
  if (userId !== user.id) world.joined(user, channel.id);
  if (channel.name === 'town-square') {
    throw new ApiError(400, 'api.channel.remove.default.app_error', {
      message: 'Unable to remove user from the default channel town-square.',
    });
  }
  const removed = world.user(userId);
  if (!world.members.get(channel.id)?.delete(userId)) throw noMember();
  const type = userId === user.id ? 'system_leave_channel' : 'system_remove_from_channel';
  const message =
    userId === user.id ? `${removed.username} left the channel.` : `${removed.username} was removed from the channel.`;
  storeSystemPost(world, channel, { type, user, message });
  const data = { user_id: userId, remover_id: user.id };
  world.publish('user_removed', data, { channel_id: channel.id });
  world.publish('user_removed', { channel_id: channel.id, remover_id: user.id }, { user_id: userId });
}

function noMember(): ApiError {
  return notFound(
    'app.channel.get_member.missing.app_error',
    'No channel member found for that user ID and channel ID.',
  );
}

function view(call: Call): Record<string, number> {
  const { world } = call;
  const user = call.self();
  const body = call.fields('channel_view');
  const times: Record<string, number> = {};
  for (const name of ['channel_id', 'prev_channel_id']) {
    const id = text(body, name);
    if (!id) continue;
    const channel = world.channels.get(idField(body, name));
    // the time is returned even for channels the user has not joined
    if (channel) times[id] = markViewed(world, channel, user.id) ?? channel.last_post_at;
  }
  if (world.atLeast(9)) world.publish('multiple_channels_viewed', { channel_times: times }, { user_id: user.id });
  else for (const id of Object.keys(times)) world.publish('channel_viewed', { channel_id: id }, { user_id: user.id });
  return times;
}

export function memberJson(world: World, member: ChannelMember): Record<string, unknown> {
  return {
    ...member,
    scheme_guest: false,
    explicit_roles: '',
    ...(world.atLeast(7) ? { urgent_mention_count: 0 } : {}),
    ...(world.atLeast(11) ? { autotranslation_disabled: false } : {}),
  };
}

function membersOfUser(call: Call, teamId?: string): ChannelMember[] {
  const user = call.self();
  if (teamId) call.world.teamFor(user, teamId);
  return [...call.world.channels.values()]
    .filter((channel) => !teamId || !channel.team_id || channel.team_id === teamId)
    .flatMap((channel) => call.world.member(channel.id, user.id) ?? []);
}

function unread(call: Call): Record<string, unknown> {
  const { world } = call;
  const user = call.self();
  const channel = world.readable(call.user, call.param('channel_id'));
  const member = world.member(channel.id, user.id);
  if (!member) throw noMember();
  return {
    team_id: channel.team_id,
    channel_id: channel.id,
    msg_count: channel.total_msg_count - member.msg_count,
    mention_count: member.mention_count,
    msg_count_root: channel.total_msg_count_root - member.msg_count_root,
    mention_count_root: member.mention_count_root,
    notify_props: member.notify_props,
  };
}

export const channelMemberRoutes: Routes = {
  'GET /channels/{channel_id}/members': (call) => {
    const channel = call.world.joined(call.user, call.param('channel_id'));
    return ok(call.page(call.world.membersOf(channel.id)).map((member) => memberJson(call.world, member)));
  },
  'POST /channels/{channel_id}/members': (call) => {
    const members = add(call).map((member) => memberJson(call.world, member));
    return created(members.length === 1 ? members[0] : members);
  },
  'POST /channels/{channel_id}/members/ids': (call) => {
    const channel = call.world.joined(call.user, call.param('channel_id'));
    const ids = call.strings('user_ids');
    if (ids.length === 0) throw invalidBody('user_ids');
    const members = ids.flatMap((id) => call.world.member(channel.id, id) ?? []);
    return ok(members.map((member) => memberJson(call.world, member)));
  },
  'GET /channels/{channel_id}/members/{user_id}': (call) => {
    const channel = call.world.joined(call.user, call.param('channel_id'));
    const member = call.world.member(channel.id, call.param('user_id'));
    if (!member) throw noMember();
    return ok(memberJson(call.world, member));
  },
  'DELETE /channels/{channel_id}/members/{user_id}': (call) => {
    remove(call);
    return done;
  },
  'POST /channels/members/{user_id}/view': (call) => ok({ status: 'OK', last_viewed_at_times: view(call) }),
  'GET /users/{user_id}/channels/{channel_id}/unread': (call) => ok(unread(call)),
  'GET /users/{user_id}/teams/{team_id}/channels/members': (call) =>
    ok(membersOfUser(call, call.param('team_id')).map((member) => memberJson(call.world, member))),
  'GET /users/{user_id}/channel_members': (call) =>
    ok(call.page(membersOfUser(call)).map((member) => memberJson(call.world, member))),
  'GET /channels/{channel_id}/stats': (call) => {
    const { world } = call;
    const { id } = world.joined(call.user, call.param('channel_id'));
    const posts = (world.timeline.get(id) ?? []).filter((post) => !post.delete_at);
    return ok({
      channel_id: id,
      member_count: world.membersOf(id).length,
      guest_count: 0,
      pinnedpost_count: posts.filter((post) => post.is_pinned).length,
      ...(world.atLeast(7) ? { files_count: posts.reduce((sum, post) => sum + post.file_ids.length, 0) } : {}),
    });
  },
};
