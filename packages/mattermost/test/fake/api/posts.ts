// Posts: create, change, delete, pin, save.

import { bool, type Call, created, done, type Fields, idField, isFields, ok, text, texts } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidBody, unlicensed } from '../world/api-error.ts';
import type { Channel, Post, Priority } from '../world/model.ts';
import { postJson, postListJson } from '../world/post-json.ts';
import { storePost } from '../world/store-post.ts';
import type { World } from '../world/world.ts';

const longest = 16_383;
const dedupeMs = 30_000;

function refuse(id: string, message: string): ApiError {
  return new ApiError(400, id, { message });
}

function checkMessage(message: string): string {
  // counted in code points
  if ([...message].length > longest) {
    throw refuse(
      'model.post.is_valid.message_length.app_error',
      'Post Message property is longer than the maximum permitted length.',
    );
  }
  return message;
}

function propsOf(body: Fields): Fields | undefined {
  if (body.props === undefined || body.props === null) return undefined;
  if (!isFields(body.props)) throw invalidBody('post');
  return body.props;
}

function checkRoot(world: World, rootId: string, channel: Channel): void {
  if (!rootId) return;
  const root = world.posts.get(rootId);
  if (!root || root.delete_at || root.root_id) {
    throw refuse('api.post.create_post.root_id.app_error', 'Invalid RootId parameter.');
  }
  if (root.channel_id !== channel.id) {
    throw refuse('api.post.create_post.channel_root_id.app_error', 'Invalid ChannelId for RootId parameter.');
  }
}

function create(call: Call): Record<string, unknown> {
  const { world, user } = call;
  const body = call.fields('post');
  const channelId = text(body, 'channel_id');
  const message = text(body, 'message');
  const rootId = text(body, 'root_id');
  const fileIds = texts(body, 'file_ids') ?? [];
  const pendingPostId = text(body, 'pending_post_id');
  const props = propsOf(body);
  // unknown and hidden channels give the same error
  if (!world.channels.has(channelId) || !world.member(channelId, user.id)) throw forbidden('create_post');
  const channel = world.channel(channelId);
  const key = `${user.id} ${pendingPostId}`;
  const seen = pendingPostId ? world.pendingPosts.get(key) : undefined;
  if (seen && seen.until > Date.now()) return postJson(world, world.post(seen.postId));
  if (channel.delete_at) {
    throw refuse('api.post.create_post.can_not_post_to_deleted.error', 'Can not post to deleted channel.');
  }
  checkMessage(message);
  checkRoot(world, rootId, channel);
  if (fileIds.length > (world.atLeast(6) ? 10 : 5)) {
    throw refuse(
      'model.post.is_valid.file_ids.app_error',
      'Invalid file ids. Note that uploads are limited to 10 files maximum.',
    );
  }
  const priority = priorityIn(world, body, rootId);
  const post = storePost(world, channel, {
    ...{ user, message, rootId, fileIds, pendingPostId },
    ...(props && { props }),
    ...(priority && { priority }),
  });
  if (pendingPostId) world.pendingPosts.set(key, { postId: post.id, until: Date.now() + dedupeMs });
  return postJson(world, post, { pendingPostId });
}

/** Before version 7.7 it is ignored. */
function priorityIn(world: World, body: Fields, rootId: string): Priority | undefined {
  const given = isFields(body.metadata) ? body.metadata.priority : undefined;
  if (!world.atLeast(7, 7) || !isFields(given)) return undefined;
  if (world.isDisabled('priority')) {
    throw new ApiError(403, 'api.post.post_priority.priority_post_not_allowed_for_user.request_error', {
      message: 'User is not allowed to create priority post or persistent notification.',
    });
  }
  if (rootId) {
    throw refuse(
      'api.post.post_priority.priority_post_only_allowed_for_root_post.request_error',
      'Only root posts are allowed to have priority.',
    );
  }
  const priority = { priority: text(given, 'priority'), requested_ack: bool(given, 'requested_ack') ?? false };
  if (priority.requested_ack && !world.options.licensed) throw unlicensed();
  return priority;
}

/** A post the user may change; an unknown post gives 403, as in the real server. */
function editable(call: Call, permission: string): Post {
  const { world, user } = call;
  const post = world.posts.get(call.param('post_id'));
  if (!post || post.delete_at) throw forbidden(permission);
  world.readable(user, post.channel_id);
  if (post.type) throw refuse('api.post.update_post.system_message.app_error', 'Unable to update system message.');
  return post;
}

interface Changes {
  message?: string;
  props?: Fields;
  isPinned?: boolean;
}

function change(world: World, post: Post, changes: Changes): Record<string, unknown> {
  if (world.channel(post.channel_id).delete_at) {
    throw refuse(
      'api.post.update_post.can_not_update_post_in_deleted.error',
      'Can not update a post in deleted channel.',
    );
  }
  const now = world.now();
  if (changes.message !== undefined && changes.message !== post.message) {
    post.message = checkMessage(changes.message);
    post.edit_at = now;
  }
  if (changes.props) post.props = { ...changes.props };
  if (changes.isPinned !== undefined) post.is_pinned = changes.isPinned;
  post.update_at = now;
  world.lastPostTimes.delete(post.channel_id);
  const json = postJson(world, post);
  world.publish('post_edited', { post: JSON.stringify(json) }, { channel_id: post.channel_id });
  return json;
}

function own(call: Call): Post {
  const post = editable(call, 'edit_post');
  if (post.user_id !== call.user.id && !call.world.isAdmin(call.user)) throw forbidden('edit_others_posts');
  return post;
}

/** PUT replaces the post: without `is_pinned` it is unpinned, without `props` they are removed. */
function update(call: Call): Record<string, unknown> {
  const body = call.fields('post');
  if (text(body, 'id') !== call.param('post_id')) throw invalidBody('id');
  return change(call.world, own(call), {
    message: text(body, 'message'),
    isPinned: bool(body, 'is_pinned') ?? false,
    props: propsOf(body) ?? {},
  });
}

function patch(call: Call): Record<string, unknown> {
  const body = call.fields('post');
  const changes: Changes = {};
  if (body.message !== undefined && body.message !== null) changes.message = text(body, 'message');
  const props = propsOf(body);
  if (props) changes.props = props;
  const isPinned = bool(body, 'is_pinned');
  if (isPinned !== undefined) changes.isPinned = isPinned;
  return change(call.world, own(call), changes);
}

function remove(call: Call): void {
  const { world, user } = call;
  const id = call.param('post_id');
  if (!world.atLeast(10) && world.posts.get(id)?.delete_at !== 0) throw forbidden('delete_post');
  const post = world.post(id);
  world.readable(user, post.channel_id);
  const admin = world.isAdmin(user) || world.member(post.channel_id, user.id)?.scheme_admin;
  if (post.user_id !== user.id && !admin) throw forbidden('delete_others_posts');
  deletePost(world, post, user.id);
}

/** Deleting a root deletes its replies. */
export function deletePost(world: World, post: Post, by: string): void {
  const now = world.now();
  for (const gone of [post, ...(world.replies.get(post.id) ?? [])]) {
    if (gone.delete_at) continue;
    gone.delete_at = now;
    gone.update_at = now;
  }
  const root = world.posts.get(post.root_id);
  if (root) root.update_at = now;
  world.lastPostTimes.delete(post.channel_id);
  const data = { delete_by: by, post: JSON.stringify(postJson(world, post)) };
  world.publish('post_deleted', data, { channel_id: post.channel_id });
}

function pin(call: Call, isPinned: boolean): void {
  change(call.world, editable(call, 'read_channel_content'), { isPinned });
}

function readPost(call: Call): Post {
  const { world, user } = call;
  if (call.flag('include_deleted') && !world.isAdmin(user)) throw forbidden('manage_system');
  const post = call.flag('include_deleted') ? world.posts.get(call.param('post_id')) : undefined;
  const found = post ?? world.post(call.param('post_id'));
  world.readable(user, found.channel_id);
  return found;
}

function flagged(call: Call): Post[] {
  const { world, query } = call;
  const user = call.self();
  const channelId = query.get('channel_id');
  const teamId = query.get('team_id');
  const found = world.preferences
    .filter(({ user_id, category, value }) => user_id === user.id && category === 'flagged_post' && value === 'true')
    .flatMap(({ name }) => world.posts.get(name) ?? [])
    .filter((post) => !post.delete_at && world.isIn(user, world.channel(post.channel_id)))
    .filter((post) => !channelId || post.channel_id === channelId)
    .filter((post) => !teamId || [teamId, ''].includes(world.channel(post.channel_id).team_id))
    .sort((a, b) => b.create_at - a.create_at);
  // here `page` is an offset in every version
  const offset = call.count('page', { fallback: 0, most: Number.MAX_SAFE_INTEGER });
  return found.slice(offset, offset + call.count('per_page', { fallback: 60, most: 200 }));
}

function setUnread(call: Call): Record<string, unknown> {
  const { world } = call;
  const user = call.self();
  const post = world.post(call.param('post_id'));
  const channel = world.readable(call.user, post.channel_id);
  const member = world.member(channel.id, user.id);
  if (!member) throw forbidden('read_channel');
  const later = (world.timeline.get(channel.id) ?? []).filter(
    (other) => other.create_at >= post.create_at && !other.delete_at && !other.type,
  );
  member.msg_count = channel.total_msg_count - later.length;
  member.msg_count_root = channel.total_msg_count_root - later.filter((other) => !other.root_id).length;
  member.last_viewed_at = post.create_at - 1;
  return { ...member, team_id: channel.team_id };
}

export const postRoutes: Routes = {
  'POST /posts': (call) => created(create(call)),
  'GET /posts/{post_id}': (call) => ok(postJson(call.world, readPost(call)), { etag: true }),
  'POST /posts/ids': (call) => {
    const ids = call.strings('post_ids');
    if (ids.length === 0 || ids.length > 1000) throw invalidBody('post_ids');
    const found = ids.flatMap((id) => call.world.posts.get(id) ?? []);
    const seen = found.filter((post) => call.world.mayRead(call.user, call.world.channel(post.channel_id)));
    return ok(seen.filter((post) => !post.delete_at).map((post) => postJson(call.world, post)));
  },
  'PUT /posts/{post_id}': (call) => ok(update(call)),
  'PUT /posts/{post_id}/patch': (call) => ok(patch(call)),
  'DELETE /posts/{post_id}': (call) => {
    remove(call);
    return done;
  },
  'POST /posts/{post_id}/pin': (call) => {
    pin(call, true);
    return done;
  },
  'POST /posts/{post_id}/unpin': (call) => {
    pin(call, false);
    return done;
  },
  'GET /channels/{channel_id}/pinned': (call) => {
    const channel = call.world.readable(call.user, call.param('channel_id'));
    const pinned = (call.world.timeline.get(channel.id) ?? []).filter((post) => post.is_pinned && !post.delete_at);
    return ok(postListJson(call.world, { order: pinned.reverse() }), { etag: true });
  },
  'GET /users/{user_id}/posts/flagged': (call) => {
    const channelId = call.query.get('channel_id');
    if (channelId) idField({ channel_id: channelId }, 'channel_id');
    return ok(postListJson(call.world, { order: flagged(call) }));
  },
  'POST /users/{user_id}/posts/{post_id}/set_unread': (call) => ok(setUnread(call)),
  'GET /posts/{post_id}/files/info': (call) => {
    const post = readPost(call);
    return ok(
      post.file_ids.flatMap((id) => call.world.files.get(id)?.info ?? []),
      { etag: true },
    );
  },
};
