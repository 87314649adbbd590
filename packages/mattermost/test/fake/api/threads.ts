// Followed threads.

import { type Call, done, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, invalidUrl, notFound } from '../world/api-error.ts';
import type { Post, ThreadMembership, User } from '../world/model.ts';
import { postJson } from '../world/post-json.ts';
import { follow, threadMembership } from '../world/unread.ts';
import type { World } from '../world/world.ts';
import { userJson } from './users.ts';

interface Followed {
  root: Post;
  replies: Post[];
  membership: ThreadMembership;
}

function lastReplyAt({ replies }: Followed): number {
  return replies.at(-1)?.create_at ?? 0;
}

function isUnread(thread: Followed): boolean {
  return lastReplyAt(thread) > thread.membership.last_viewed_at;
}

function followedBy(world: World, user: User, teamId: string): Followed[] {
  const threads: Followed[] = [];
  for (const [rootId, all] of world.replies) {
    const root = world.posts.get(rootId);
    const membership = threadMembership(world, rootId, user.id);
    if (!root || root.delete_at || !membership?.following) continue;
    const channel = world.channel(root.channel_id);
    if (![teamId, ''].includes(channel.team_id) || !world.member(channel.id, user.id)) continue;
    threads.push({ root, membership, replies: all.filter((reply) => !reply.delete_at) });
  }
  return threads.filter(({ replies }) => replies.length > 0).sort((a, b) => lastReplyAt(b) - lastReplyAt(a));
}

function threadJson(call: Call, thread: Followed): Record<string, unknown> {
  const { world } = call;
  const { root, replies, membership } = thread;
  const people = [...new Set([root, ...replies].map(({ user_id }) => user_id))].map((id) => world.user(id));
  return {
    id: root.id,
    reply_count: replies.length,
    last_reply_at: lastReplyAt(thread),
    last_viewed_at: membership.last_viewed_at,
    participants: people.map((user) => (call.flag('extended') ? userJson(world, user, call.user) : { id: user.id })),
    post: postJson(world, root),
    unread_replies: replies.filter((reply) => reply.create_at > membership.last_viewed_at).length,
    unread_mentions: membership.unread_mentions,
    ...(world.atLeast(7, 7) ? { is_urgent: false, delete_at: 0 } : {}),
  };
}

/** Pages are relative to a thread: `before` and `after` are thread ids. */
function list(call: Call): Record<string, unknown> {
  const { world, query } = call;
  const user = call.self();
  if (world.atLeast(8)) world.teamFor(user, call.param('team_id'));
  const all = followedBy(world, user, call.param('team_id'));
  const unread = all.filter(isUnread);
  const before = query.get('before');
  const after = query.get('after');
  if (before && after) throw invalidUrl('before');
  const since = Number(query.get('since') ?? 0);
  const wanted = (call.flag('unread') ? unread : all).filter((thread) => lastReplyAt(thread) >= since);
  const anchor = all.find(({ root }) => root.id === (before || after));
  const at = anchor ? lastReplyAt(anchor) : 0;
  const within = wanted.filter((thread) => {
    if (before) return lastReplyAt(thread) < at;
    return after ? lastReplyAt(thread) > at : true;
  });
  const perPage = call.count('per_page', { fallback: 60, most: 200 });
  // with `after` the order is oldest first
  const page = after ? within.slice(-perPage).reverse() : within.slice(0, perPage);
  return {
    total: call.flag('threadsOnly') ? 0 : all.length,
    total_unread_threads: call.flag('threadsOnly') ? 0 : unread.length,
    total_unread_mentions: all.reduce((sum, { membership }) => sum + membership.unread_mentions, 0),
    ...(world.atLeast(7, 7) ? { total_unread_urgent_mentions: 0 } : {}),
    threads: call.flag('totalsOnly') ? [] : page.map((thread) => threadJson(call, thread)),
  };
}

function one(call: Call): Followed {
  const user = call.self();
  const threads = followedBy(call.world, user, call.param('team_id'));
  const thread = threads.find(({ root }) => root.id === call.param('thread_id'));
  if (!thread) throw notFound('app.user.get_thread_membership_for_user.not_found', 'Thread membership not found.');
  return thread;
}

function read(call: Call, { membership, root }: Followed, at: number): void {
  membership.last_viewed_at = at;
  membership.unread_mentions = 0;
  const data = {
    thread_id: root.id,
    timestamp: at,
    unread_mentions: 0,
    unread_replies: 0,
    channel_id: root.channel_id,
  };
  call.world.publish('thread_read_changed', data, { user_id: call.param('user_id') });
}

const path = '/users/{user_id}/teams/{team_id}/threads';

export const threadRoutes: Routes = {
  [`GET ${path}`]: (call) => ok(list(call)),
  [`GET ${path}/{thread_id}`]: (call) => ok(threadJson(call, one(call))),
  [`PUT ${path}/read`]: (call) => {
    for (const thread of followedBy(call.world, call.self(), call.param('team_id')))
      read(call, thread, call.world.now());
    return done;
  },
  [`PUT ${path}/{thread_id}/read/{timestamp}`]: (call) => {
    if (!/^\d+$/.test(call.param('timestamp'))) throw invalidUrl('timestamp');
    const thread = one(call);
    read(call, thread, Number(call.param('timestamp')));
    return ok(threadJson(call, thread));
  },
  [`POST ${path}/{thread_id}/set_unread/{post_id}`]: (call) => {
    const { world } = call;
    const post = world.post(call.param('post_id'));
    world.readable(call.user, post.channel_id);
    if (post.root_id !== call.param('thread_id') && post.id !== call.param('thread_id')) {
      throw new ApiError(400, 'app.user.update_thread_read_for_user_by_post.app_error', { message: 'Invalid post_id' });
    }
    follow(world, call.param('thread_id'), call.self().id); // marking follows the thread
    const thread = one(call);
    read(call, thread, post.create_at - 1);
    return ok(threadJson(call, thread));
  },
  [`PUT ${path}/{thread_id}/following`]: (call) => {
    const root = call.world.post(call.param('thread_id'));
    call.world.readable(call.user, root.channel_id);
    follow(call.world, root.id, call.self().id);
    return done;
  },
  [`DELETE ${path}/{thread_id}/following`]: (call) => {
    const membership = threadMembership(call.world, call.param('thread_id'), call.self().id);
    if (membership) membership.following = false;
    return done;
  },
};
