// Creates a world from a seed.
import { addMember } from './api/channel-members.ts';
import { storeChannel, storeConversation } from './api/channels.ts';
import { storeFile } from './api/files.ts';
import { deletePost } from './api/posts.ts';
import { joinTeam } from './api/teams.ts';
import { storeEmoji } from './features/emoji.ts';
import { storeGroup } from './features/groups.ts';
import type { Channel, Post, User } from './world/model.ts';
import type { Seed, SeedPost, SeedUser } from './world/seed.ts';
import { storePost } from './world/store-post.ts';
import { markViewed } from './world/unread.ts';
import type { World } from './world/world.ts';

/** Records by the names used in tests. */
export interface Names {
  users: Map<string, User>;
  channels: Map<string, Channel>;
  posts: Map<string, Post>;
  tokens: Map<string, string>;
}

export function plant(world: World, seed: Seed): Names {
  const names: Names = { users: new Map(), channels: new Map(), posts: new Map(), tokens: new Map() };
  for (const user of seed.users) plantUser(world, names, user);
  const teamIds = new Map<string, string>();
  for (const { name, displayName, members } of seed.teams) {
    const now = world.now();
    const id = world.newId();
    world.teams.set(id, {
      id,
      create_at: now,
      update_at: now,
      delete_at: 0,
      display_name: displayName,
      name,
      description: '',
      email: `${name}@example.com`,
      type: 'O',
      company_name: '',
      allowed_domains: '',
      invite_id: world.newId(),
      allow_open_invite: false,
    });
    teamIds.set(name, id);
    for (const member of members) joinTeam(world, id, named(names.users, member).id);
  }
  for (const given of seed.channels) {
    const channel = storeChannel(world, {
      team_id: named(teamIds, given.team),
      type: given.type ?? 'O',
      name: given.name,
      display_name: given.displayName ?? given.name,
      purpose: given.purpose ?? '',
      header: given.header ?? '',
      creator_id: named(names.users, given.members[0] ?? '').id,
    });
    names.channels.set(given.name, channel);
    for (const member of given.members) addMember(world, channel.id, named(names.users, member).id);
    if (given.archived) channel.delete_at = world.now();
  }
  for (const users of seed.conversations) {
    const members = users.map((name) => named(names.users, name));
    const [creator] = members;
    if (creator) names.channels.set(users.toSorted().join(','), storeConversation(world, creator, members));
  }
  for (const post of seed.posts) plantPost(world, names, post);
  for (const group of seed.groups) {
    storeGroup(world, { ...group, members: group.members.map((name) => named(names.users, name).id) });
  }
  for (const [name, creator] of Object.entries(seed.emoji)) storeEmoji(world, name, named(names.users, creator).id);
  return names;
}

/** Finds a record of the seed by name; throws on a typo in a test. */
export function named<Value>(map: Map<string, Value>, name: string): Value {
  const value = map.get(name);
  if (value !== undefined) return value;
  throw new Error(`The fake has no "${name}"; it has ${[...map.keys()].join(', ')}.`);
}

function plantUser(world: World, names: Names, given: SeedUser): void {
  const now = world.now();
  const user: User = {
    id: world.newId(),
    create_at: now,
    update_at: now,
    delete_at: given.deactivated ? now : 0,
    username: given.username,
    first_name: given.firstName ?? '',
    last_name: given.lastName ?? '',
    nickname: given.nickname ?? '',
    position: '',
    email: `${given.username}@example.com`,
    email_verified: true,
    auth_service: '',
    roles: given.admin ? 'system_user system_admin' : 'system_user',
    locale: 'en',
    ...(given.bot ? { is_bot: true } : {}),
  };
  const token = given.token ?? `${given.username}token`.padEnd(26, '0');
  world.users.set(user.id, user);
  world.tokens.set(token, user.id);
  if (given.status) world.statuses.set(user.id, given.status);
  names.users.set(user.username, user);
  names.tokens.set(user.username, token);
}

function plantPost(world: World, names: Names, given: SeedPost): void {
  const user = named(names.users, given.user);
  const channel = named(names.channels, given.channel);
  const files = Object.entries(given.files ?? {}).map(([name, content]) =>
    storeFile(world, { user, channelId: channel.id, name, content: Buffer.from(content) }),
  );
  const post = storePost(world, channel, {
    user,
    message: given.message,
    rootId: given.root ? named(names.posts, given.root).id : '',
    type: given.type ?? '',
    props: given.props ?? {},
    fileIds: files.map(({ id }) => id),
  });
  if (given.key) names.posts.set(given.key, post);
  if (given.editedTo !== undefined) {
    post.edit_at = world.now();
    post.update_at = post.edit_at;
    post.message = given.editedTo;
  }
  post.is_pinned = given.pinned ?? false;
  for (const [emoji, users] of Object.entries(given.reactions ?? {})) {
    for (const name of users) {
      const reaction = { post_id: post.id, emoji_name: emoji, create_at: world.now() };
      world.reactions.push({ user_id: named(names.users, name).id, ...reaction });
    }
  }
  for (const name of given.savedBy ?? []) {
    const user_id = named(names.users, name).id;
    world.preferences.push({ user_id, category: 'flagged_post', name: post.id, value: 'true' });
  }
  for (const name of given.viewedBy ?? []) markViewed(world, channel, named(names.users, name).id);
  if (given.deleted) deletePost(world, post, user.id);
}
