// JSON of posts and post lists, depending on the version.
import type { Post } from './model.ts';
import type { World } from './world.ts';

export function postJson(world: World, post: Post, { pendingPostId = '' } = {}): Record<string, unknown> {
  const deleted = post.delete_at !== 0;
  const reactions = deleted ? [] : world.reactions.filter((reaction) => reaction.post_id === post.id);
  const files = deleted ? [] : post.file_ids.flatMap((id) => world.files.get(id)?.info ?? []);
  const replies = (world.replies.get(post.root_id || post.id) ?? []).filter((reply) => !reply.delete_at);
  return {
    ...post,
    // a deleted post is a tombstone
    ...(deleted ? { message: '', props: {}, file_ids: [] } : { props: withoutIntegrations(post.props) }),
    // up to 10.4.0 an empty list is omitted
    ...(!world.atLeast(10, 5) && files.length === 0 ? { file_ids: undefined } : {}),
    pending_post_id: pendingPostId,
    remote_id: world.atLeast(7) ? '' : undefined,
    has_reactions: reactions.length > 0 ? true : undefined,
    reply_count: replies.length,
    last_reply_at: post.root_id ? 0 : (replies.at(-1)?.create_at ?? 0),
    participants: null,
    metadata: {
      ...(reactions.length > 0 ? { reactions } : {}),
      ...(files.length > 0 ? { files } : {}),
      ...priorityOf(world, post),
      ...(world.atLeast(11) ? { expire_at: 0, translations: {} } : {}),
    },
  };
}

/** Clients do not see where clicks on buttons are sent. */
function withoutIntegrations(props: Post['props']): Post['props'] {
  if (!Array.isArray(props.attachments)) return props;
  const attachments = props.attachments.map((attachment: { actions?: Record<string, unknown>[] }) => {
    if (!attachment.actions) return attachment;
    return { ...attachment, actions: attachment.actions.map(({ integration: _, ...action }) => action) };
  });
  return { ...props, attachments };
}

function priorityOf(world: World, post: Post): Record<string, unknown> {
  const priority = world.priorities.get(post.id);
  const acknowledgements = world.acknowledgements.filter(({ post_id }) => post_id === post.id);
  return {
    ...(priority ? { priority: { ...priority, persistent_notifications: false } } : {}),
    ...(acknowledgements.length > 0 ? { acknowledgements } : {}),
  };
}

export interface PostListParts {
  /** The requested posts in order. */
  order: Post[];
  /** Additional posts: the threads of the requested ones. */
  along?: Post[];
  next?: string;
  previous?: string;
  hasNext?: boolean;
}

export function postListJson(world: World, parts: PostListParts): Record<string, unknown> {
  const posts: Record<string, unknown> = {};
  for (const post of [...parts.order, ...(parts.along ?? [])]) posts[post.id] ??= postJson(world, post);
  return {
    order: parts.order.map(({ id }) => id),
    posts,
    next_post_id: parts.next ?? '',
    prev_post_id: parts.previous ?? '',
    has_next: world.atLeast(6, 6) ? parts.hasNext : undefined,
    first_inaccessible_post_time: world.atLeast(7, 3) ? 0 : undefined,
  };
}

/** The roots and replies that belong to these posts. */
export function threadsOf(world: World, posts: Post[]): Post[] {
  const along: Post[] = [];
  for (const rootId of new Set(posts.map((post) => post.root_id || post.id))) {
    const root = world.posts.get(rootId);
    along.push(...(root ? [root] : []), ...(world.replies.get(rootId) ?? []));
  }
  return along.filter((post) => !post.delete_at);
}
