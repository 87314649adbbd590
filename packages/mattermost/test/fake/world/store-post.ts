// Stores a new post: timeline, counters, threads and the event.
import type { Channel, Post, Priority, User } from './model.ts';
import { postJson } from './post-json.ts';
import { countNewPost, countReply, markViewed, mentionedBy } from './unread.ts';
import type { World } from './world.ts';

export interface NewPost {
  user: User;
  message: string;
  rootId?: string;
  type?: string;
  props?: Record<string, unknown>;
  fileIds?: string[];
  pendingPostId?: string;
  priority?: Priority;
}

/** Stores a post that was already validated. */
export function storePost(world: World, channel: Channel, given: NewPost): Post {
  const now = world.now();
  const post: Post = {
    id: world.newId(),
    create_at: now,
    update_at: now,
    edit_at: 0,
    delete_at: 0,
    is_pinned: false,
    user_id: given.user.id,
    channel_id: channel.id,
    root_id: given.rootId ?? '',
    original_id: '',
    message: given.message,
    type: given.type ?? '',
    props: { ...given.props },
    hashtags: (given.message.match(/#[a-z][\w.-]+/gi) ?? []).join(' '),
    file_ids: [],
  };
  for (const id of given.fileIds ?? []) {
    const file = world.files.get(id)?.info;
    // a file can be in one post of its uploader; other files are dropped silently
    if (!file || file.post_id || file.user_id !== given.user.id) continue;
    file.post_id = post.id;
    post.file_ids.push(id);
  }
  world.posts.set(post.id, post);
  if (given.priority) world.priorities.set(post.id, given.priority);
  world.lastPostTimes.delete(channel.id);
  world.timeline.get(channel.id)?.push(post);
  const mentioned = mentionedBy(world, channel, post);
  countNewPost(world, channel, { post, mentioned });
  if (post.root_id) {
    const replies = world.replies.get(post.root_id);
    if (replies) replies.push(post);
    else world.replies.set(post.root_id, [post]);
    const root = world.posts.get(post.root_id);
    if (root) root.update_at = now;
    countReply(world, post, mentioned);
  }
  // posts of bots and webhooks, and replies with collapsed threads, do not move the read marker
  const isAside = given.user.is_bot || 'from_webhook' in post.props || 'from_bot' in post.props;
  const isCollapsed = post.root_id !== '' && world.options.collapsedThreads;
  if (!post.type && !isAside && !isCollapsed) markViewed(world, channel, given.user.id);
  publishPosted(world, channel, { post, given, mentioned });
  return post;
}

function publishPosted(
  world: World,
  channel: Channel,
  { post, given, mentioned }: { post: Post; given: NewPost; mentioned: string[] },
): void {
  const data = {
    channel_display_name: channel.type === 'D' ? `@${given.user.username}` : channel.display_name,
    channel_name: channel.name,
    channel_type: channel.type,
    ...(mentioned.length > 0 ? { mentions: JSON.stringify(mentioned) } : {}),
    // the post is a JSON string
    post: JSON.stringify(postJson(world, post, { pendingPostId: given.pendingPostId ?? '' })),
    sender_name: post.type ? 'System' : `@${given.user.username}`,
    set_online: true,
    team_id: channel.team_id,
  };
  world.publish('posted', data, { channel_id: channel.id });
}

export function storeSystemPost(
  world: World,
  channel: Channel,
  { type, user, message }: { type: string; user: User; message: string },
): Post {
  return storePost(world, channel, { user, message, type, props: { username: user.username } });
}
