// Post lists of a channel: pages, since, before, after, around the first unread, threads.

import { type Call, idPattern, ok } from '../http/call.ts';
import type { Routes } from '../http/routes.ts';
import { ApiError, forbidden, invalidUrl } from '../world/api-error.ts';
import type { Channel, Post } from '../world/model.ts';
import { type PostListParts, postListJson, threadsOf } from '../world/post-json.ts';

const mostSince = 1000;

/** Oldest first; without replies if threads are collapsed. */
function timeline(call: Call, channel: Channel): Post[] {
  const posts = call.world.timeline.get(channel.id) ?? [];
  const collapsed = call.flag('collapsedThreads');
  const deleted = call.flag('include_deleted');
  return posts.filter((post) => (deleted || !post.delete_at) && !(collapsed && post.root_id));
}

function along(call: Call, order: Post[]): Post[] {
  if (call.flag('collapsedThreads')) return [];
  if (!call.flag('skipFetchThreads')) return threadsOf(call.world, order);
  return order.flatMap((post) => call.world.posts.get(post.root_id) ?? []);
}

/**
 * All changes since a time, including deleted posts; if there are too many, the earliest, with the roots of their threads.
 * The latest returned change is cached as the last change of the channel, even if the response was truncated.
 */
function since(call: Call, channel: Channel, at: number): PostListParts {
  const { world } = call;
  if ((world.lastPostTimes.get(channel.id) ?? Number.POSITIVE_INFINITY) <= at) return { order: [] };
  const collapsed = call.flag('collapsedThreads');
  const changed = (world.timeline.get(channel.id) ?? [])
    .filter((post) => post.update_at > at && !(collapsed && post.root_id))
    .sort((a, b) => a.update_at - b.update_at)
    .slice(0, mostSince);
  const roots = changed.flatMap((post) => world.posts.get(post.root_id) ?? []);
  const order = [...new Set([...changed, ...roots])]
    .filter(({ update_at }) => update_at > at)
    .sort((a, b) => b.create_at - a.create_at);
  world.lastPostTimes.set(channel.id, Math.max(at, ...order.map(({ update_at }) => update_at)));
  return { order, along: roots };
}

function idOf(call: Call, name: string): string {
  const id = call.query.get(name) ?? '';
  if (id && !idPattern.test(id)) throw invalidUrl(name);
  return id;
}

function channelPosts(call: Call): PostListParts {
  const { world, user } = call;
  const after = idOf(call, 'after');
  const before = idOf(call, 'before');
  const sinceText = call.query.get('since') ?? '';
  if (!/^-?\d*$/.test(sinceText)) throw invalidUrl('since');
  if (call.flag('include_deleted') && !world.isAdmin(user)) throw forbidden('read_deleted_posts');
  const channel = world.readable(user, call.param('channel_id'));
  if (Number(sinceText) > 0) return since(call, channel, Number(sinceText));
  const posts = timeline(call, channel);
  const page = call.count('page', { fallback: 0, most: Number.MAX_SAFE_INTEGER });
  const perPage = call.count('per_page', { fallback: 60, most: 200 });
  const anchor = world.posts.get(after || before)?.create_at;
  const within =
    after || before
      ? posts.filter(({ create_at }) => anchor !== undefined && (after ? create_at > anchor : create_at < anchor))
      : posts;
  const start = page * perPage;
  const order = (after ? within.slice(start, start + perPage) : within.toReversed().slice(start, start + perPage)).sort(
    (a, b) => b.create_at - a.create_at,
  );
  const short = order.length < perPage;
  const next = after ? (short ? '' : newer(posts, order)) : page === 0 ? before : newer(posts, order);
  const previous = after && page === 0 ? after : !after && short && (page === 0 || before) ? '' : older(posts, order);
  return { order, along: along(call, order), next, previous };
}

function newer(posts: Post[], order: Post[]): string {
  const newest = order[0];
  return (newest && posts.find((post) => post.create_at > newest.create_at)?.id) ?? '';
}

function older(posts: Post[], order: Post[]): string {
  const oldest = order.at(-1);
  return (oldest && posts.findLast((post) => post.create_at < oldest.create_at)?.id) ?? '';
}

/** Some read posts, then the unread ones; the last `limit_before` if all are read or the channel was never opened. */
function aroundUnread(call: Call): PostListParts {
  const { world } = call;
  const member = call.self();
  const channel = world.readable(call.user, call.param('channel_id'));
  const before = call.count('limit_before', { fallback: 60, most: 200 });
  const after = call.count('limit_after', { fallback: 60, most: 200 });
  if (after === 0) throw invalidUrl('limit_after');
  const posts = timeline(call, channel);
  const viewedAt = world.member(channel.id, member.id)?.last_viewed_at ?? 0;
  const first = viewedAt === 0 ? undefined : posts.find((post) => post.create_at > viewedAt);
  const order = first ? aroundPost(posts, first, { before, after }) : posts.slice(posts.length - before);
  order.reverse();
  return { order, along: along(call, order), next: newer(posts, order), previous: older(posts, order) };
}

/** Posts of the same millisecond are neither before nor after. */
function aroundPost(posts: Post[], first: Post, { before, after }: { before: number; after: number }): Post[] {
  const earlier = posts.filter((post) => post.create_at < first.create_at);
  const later = posts.filter((post) => post.create_at > first.create_at);
  return [...earlier.slice(Math.max(0, earlier.length - before)), first, ...later.slice(0, after - 1)];
}

/** The requested post, then the posts of the page, including the root of the thread. */
function thread(call: Call): PostListParts {
  const { world, query } = call;
  const post = world.post(call.param('post_id'));
  world.readable(call.user, post.channel_id);
  const direction = query.get('direction') ?? '';
  if (!['', 'up', 'down'].includes(direction)) throw invalidUrl('direction');
  const fromPost = idOf(call, 'fromPost');
  const fromCreateAt = numberOf(call, 'fromCreateAt');
  const fromUpdateAt = numberOf(call, 'fromUpdateAt');
  if (fromPost && !fromCreateAt && !fromUpdateAt) {
    throw new ApiError(400, 'api.post.get_post_thread.from_post.app_error', {
      message: 'If fromPost is set, either fromCreateAt or fromUpdateAt must be set.',
    });
  }
  const perPage = world.atLeast(6, 6) ? numberOf(call, 'perPage') : 0;
  if (perPage > 200) throw invalidUrl('perPage');
  const rootId = post.root_id || post.id;
  const root = world.posts.get(rootId);
  const isDown = direction === 'down';
  const by = fromUpdateAt ? 'update_at' : 'create_at';
  const from = fromUpdateAt || fromCreateAt;
  const found = [...(root ? [root] : []), ...(world.replies.get(rootId) ?? [])]
    .filter((one) => !one.delete_at)
    .filter((one) => {
      if (!from) return true;
      if (one[by] === from) return fromPost !== '' && (isDown ? one.id > fromPost : one.id < fromPost);
      return isDown ? one[by] > from : one[by] < from;
    });
  const byTime = (a: Post, b: Post) => a[by] - b[by] || (a.id < b.id ? -1 : 1);
  if (direction) found.sort((a, b) => (isDown ? byTime(a, b) : byTime(b, a)));
  const page = perPage ? found.slice(0, perPage) : found;
  // before version 8 the requested post is included twice
  const others = world.atLeast(8) ? page.filter((one) => one !== post) : page;
  return { order: [post, ...others], hasNext: page.length < found.length };
}

function numberOf(call: Call, name: string): number {
  const value = call.query.get(name) ?? '';
  if (!/^\d*$/.test(value)) throw invalidUrl(name);
  return Number(value);
}

export const postListRoutes: Routes = {
  'GET /channels/{channel_id}/posts': (call) => ok(postListJson(call.world, channelPosts(call)), { etag: true }),
  'GET /users/{user_id}/channels/{channel_id}/posts/unread': (call) => ok(postListJson(call.world, aroundUnread(call))),
  'GET /posts/{post_id}/thread': (call) => ok(postListJson(call.world, thread(call)), { etag: true }),
};
