// Unread counters of channels and threads.
import type { Channel, Post, ThreadMembership } from './model.ts';
import type { World } from './world.ts';

/** Marks the channel as read and returns the time. */
export function markViewed(world: World, channel: Channel, userId: string): number | undefined {
  const member = world.member(channel.id, userId);
  if (!member) return undefined;
  member.msg_count = channel.total_msg_count;
  member.msg_count_root = channel.total_msg_count_root;
  member.mention_count = 0;
  member.mention_count_root = 0;
  member.last_viewed_at = Math.max(channel.last_post_at, member.last_viewed_at);
  member.last_update_at = world.now();
  return member.last_viewed_at;
}

/** Members mentioned in a new post; in a direct channel the other user. */
export function mentionedBy(world: World, channel: Channel, post: Post): string[] {
  const names = new Set(post.message.toLowerCase().match(/@[a-z0-9._-]*[a-z0-9_-]/g) ?? []);
  const everybody = ['@channel', '@all', '@here'].some((name) => names.has(name));
  return world
    .membersOf(channel.id)
    .map((member) => world.user(member.user_id))
    .filter(({ id }) => id !== post.user_id)
    .filter(({ username }) => everybody || channel.type === 'D' || names.has(`@${username}`))
    .map(({ id }) => id);
}

/** Join and leave posts are in the timeline but not counted. */
function counts(post: Post): boolean {
  return !/^system_(join|leave|add|remove)/.test(post.type);
}

export function countNewPost(
  world: World,
  channel: Channel,
  { post, mentioned }: { post: Post; mentioned: string[] },
): void {
  channel.last_post_at = post.create_at;
  if (!post.root_id) channel.last_root_post_at = post.create_at;
  if (!counts(post)) return;
  channel.total_msg_count += 1;
  if (!post.root_id) channel.total_msg_count_root += 1;
  for (const userId of mentioned) {
    const member = world.member(channel.id, userId);
    if (!member) continue;
    member.mention_count += 1;
    if (!post.root_id) member.mention_count_root += 1;
  }
}

export function threadMembership(world: World, rootId: string, userId: string): ThreadMembership | undefined {
  return world.threadMemberships.get(`${rootId}:${userId}`);
}

export function follow(world: World, rootId: string, userId: string): ThreadMembership {
  const known = threadMembership(world, rootId, userId);
  if (known) {
    known.following = true;
    return known;
  }
  const membership = { following: true, last_viewed_at: 0, unread_mentions: 0 };
  world.threadMemberships.set(`${rootId}:${userId}`, membership);
  return membership;
}

/** A reply makes its author, the author of the root and mentioned users follow the thread. */
export function countReply(world: World, reply: Post, mentioned: string[]): void {
  const root = world.posts.get(reply.root_id);
  if (!root) return;
  if (!threadMembership(world, root.id, root.user_id)) follow(world, root.id, root.user_id);
  for (const userId of mentioned) follow(world, root.id, userId).unread_mentions += 1;
  const own = follow(world, root.id, reply.user_id);
  own.last_viewed_at = reply.create_at;
  own.unread_mentions = 0;
}
