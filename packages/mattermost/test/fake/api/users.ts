// Users: profiles, statuses, typing.

import { bool, type Call, done, idField, number, ok, text } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { invalidBody, notFound } from '../world/api-error.ts';
import type { User } from '../world/model.ts';
import type { World } from '../world/world.ts';

/** A user as seen by others; users see more fields of themselves. */
export function userJson(world: World, user: User, viewer: User): Record<string, unknown> {
  const own = user.id === viewer.id || world.isAdmin(viewer);
  return {
    ...user,
    ...(user.is_bot ? { is_bot: true, bot_description: '' } : {}),
    auth_data: '',
    timezone: { automaticTimezone: '', manualTimezone: '', useAutomaticTimezone: 'true' },
    ...(own
      ? {
          notify_props: { channel: 'true', desktop: 'mention', mention_keys: '', first_name: 'false' },
          last_password_update: user.create_at,
          mfa_active: false,
        }
      : { email_verified: undefined }),
    ...(world.atLeast(7) ? { disable_welcome_email: false } : {}),
    ...(world.atLeast(11) ? { last_login: 0, remote_id: null } : {}),
  };
}

function status(world: World, userId: string): Record<string, unknown> {
  const value = world.statuses.get(userId) ?? 'offline';
  const dnd_end_time = world.dndEnds.get(userId) ?? 0;
  return { user_id: userId, status: value, manual: value === 'dnd', last_activity_at: 0, dnd_end_time };
}

function search(call: Call): User[] {
  const { world } = call;
  const body = call.fields('props');
  const term = text(body, 'term').replace(/^@/, '').toLowerCase();
  if (!term) throw invalidBody('term');
  const team = body.team_id === undefined || body.team_id === '' ? undefined : idField(body, 'team_id');
  const channel = text(body, 'in_channel_id');
  if (team) world.teamFor(call.user, team);
  const limit = number(body, 'limit') ?? 100;
  if (limit <= 0 || limit > 1000) throw invalidBody('limit');
  return [...world.users.values()]
    .filter((user) => bool(body, 'allow_inactive') || !user.delete_at)
    .filter((user) => !team || world.teamMember(team, user.id))
    .filter((user) => !channel || world.member(channel, user.id))
    .filter((user) =>
      [user.username, user.first_name, user.last_name, user.nickname, user.email].some((name) =>
        name.toLowerCase().startsWith(term),
      ),
    )
    .slice(0, limit);
}

function list(call: Call): User[] {
  const { world, query } = call;
  const team = query.get('in_team');
  const channel = query.get('in_channel');
  if (team) world.teamFor(call.user, team);
  if (channel) world.readable(call.user, channel);
  return [...world.users.values()]
    .filter((user) => !team || world.teamMember(team, user.id))
    .filter((user) => !channel || world.member(channel, user.id))
    .filter((user) => !call.flag('active') || !user.delete_at)
    .sort((a, b) => (a.username < b.username ? -1 : 1));
}

function byName(world: World, name: string): User | undefined {
  return [...world.users.values()].find((user) => user.username === name.toLowerCase());
}

export const userRoutes: Routes = {
  'GET /users': (call) => ok(call.page(list(call)).map((user) => userJson(call.world, user, call.user))),
  'GET /users/{user_id}': (call) =>
    ok(userJson(call.world, call.world.user(call.param('user_id')), call.user), { etag: true }),
  'GET /users/username/{username}': (call) => {
    const user = byName(call.world, call.param('username'));
    if (!user) throw notFound('app.user.get_by_username.app_error', 'Unable to find an existing account.');
    return ok(userJson(call.world, user, call.user), { etag: true });
  },
  'GET /users/email/{email}': (call) => {
    const user = [...call.world.users.values()].find(({ email }) => email === call.param('email'));
    if (!user) throw notFound('app.user.missing_account.const', 'Unable to find the user.');
    return ok(userJson(call.world, user, call.user), { etag: true });
  },
  'POST /users/ids': (call) => {
    const ids = call.strings('user_ids');
    if (ids.length === 0) throw invalidBody('user_ids');
    const found = [...new Set(ids)].flatMap((id) => call.world.users.get(id) ?? []);
    return ok(found.map((user) => userJson(call.world, user, call.user)));
  },
  'POST /users/usernames': (call) => {
    const names = call.strings('usernames');
    if (names.length === 0) throw invalidBody('usernames');
    const found = names.flatMap((name) => byName(call.world, name) ?? []);
    return ok(found.map((user) => userJson(call.world, user, call.user)));
  },
  'POST /users/search': (call) => ok(search(call).map((user) => userJson(call.world, user, call.user))),
  'GET /users/{user_id}/status': (call) => ok(status(call.world, call.param('user_id'))),
  'PUT /users/{user_id}/status': (call) => {
    const user = call.self();
    const body = call.fields('status');
    const wanted = text(body, 'status');
    if (text(body, 'user_id') !== user.id) throw invalidBody('user_id');
    if (wanted !== 'online' && wanted !== 'away' && wanted !== 'offline' && wanted !== 'dnd') {
      throw invalidBody('status');
    }
    call.world.statuses.set(user.id, wanted);
    call.world.dndEnds.set(user.id, wanted === 'dnd' ? (number(body, 'dnd_end_time') ?? 0) : 0);
    call.world.publish('status_change', { status: wanted, user_id: user.id }, { user_id: user.id });
    return ok(status(call.world, user.id));
  },
  'POST /users/status/ids': (call) => {
    const ids = call.strings('user_ids');
    if (ids.length === 0) throw invalidBody('user_ids');
    return ok(ids.filter((id) => call.world.users.has(id)).map((id) => status(call.world, id)));
  },
  'POST /users/{user_id}/typing': (call) => {
    const body = call.fields('typing');
    const channel = call.world.readable(call.user, idField(body, 'channel_id'));
    publishTyping(call.world, { user: call.self(), channelId: channel.id, rootId: text(body, 'parent_id') });
    return done;
  },
};

export function publishTyping(world: World, typing: { user: User; channelId: string; rootId: string }): void {
  world.publish(
    'typing',
    { parent_id: typing.rootId, user_id: typing.user.id },
    { channel_id: typing.channelId, omit_users: { [typing.user.id]: true } },
  );
}
