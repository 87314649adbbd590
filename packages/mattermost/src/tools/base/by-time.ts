// Posts of a channel created between two times. Mattermost cannot search by the time of creation, so the last post before the
// window is found first, by its position in the channel, and the posts after it are read.
import type { MattermostApi } from '../../client/api.ts';
import { path } from '../../client/path.ts';
import type { PostListRecord, PostRecord } from '../../client/records.ts';
import { type PostPage, readPostPage } from './post-pages.ts';
import { orderedPosts } from './present.ts';

interface TimeWindow {
  channelId: string;
  /** The window starts after this time, or after the post `after`. */
  since: number;
  after?: string | undefined;
  /** Included. */
  until: number;
  per_page: number;
  collapsed_threads: boolean;
}

/** Oldest first. */
export async function readCreatedBetween(api: MattermostApi, window: TimeWindow): Promise<PostPage> {
  const { channelId, since, until } = window;
  const { posts, isTruncated } = await readAfter(api, window);
  const isInside = ({ create_at }: PostRecord) => (create_at ?? 0) > since && (create_at ?? 0) <= until;
  const inside = posts.filter(isInside);
  const last = posts.at(-1);
  if (!isTruncated || !last || !isInside(last)) return { posts: inside, isTruncated: false };
  const following = await readPostPage(api, channelId, { ...window, after: last.id, per_page: 1 });
  return { posts: inside, isTruncated: following.posts.some(isInside) };
}

async function readAfter(api: MattermostApi, window: TimeWindow): Promise<PostPage> {
  const { channelId, since, after, per_page, collapsed_threads } = window;
  const page = { per_page, collapsed_threads };
  if (after !== undefined) return readPostPage(api, channelId, { after, ...page });
  const start = await findStart(api, channelId, since);
  if (!start) return { posts: [], isTruncated: false };
  if ((start.create_at ?? 0) <= since) return readPostPage(api, channelId, { after: start.id, ...page });
  const first = await readFirstMillisecond(api, { channelId, first: start, ...page });
  if (!first.isTruncated) return first;
  const later = await readPostPage(api, channelId, { after: first.posts.at(-1)?.id ?? start.id, ...page });
  return { posts: [...first.posts, ...later.posts], isTruncated: later.isTruncated };
}

/** The newest post up to the time; if there is none, the oldest post of the channel. */
async function findStart(api: MattermostApi, channelId: string, since: number): Promise<PostRecord | undefined> {
  const postAt = async (position: number): Promise<PostRecord | undefined> => {
    const query = { page: position, per_page: 1, skipFetchThreads: true };
    return orderedPosts(await api.get<PostListRecord>(path`/channels/${channelId}/posts`, query))[0];
  };
  const isPast = (post: PostRecord | undefined) => !post || (post.create_at ?? 0) <= since;
  // positions count from the newest post; `before` is past the start of the window, `within` is inside it
  let within = -1;
  let before = 0;
  let found = await postAt(before);
  let newest = found;
  while (!isPast(found)) {
    newest = found;
    within = before;
    before = before * 2 + 1;
    found = await postAt(before);
  }
  while (before - within > 1) {
    const middle = Math.floor((within + before) / 2);
    const post = await postAt(middle);
    if (isPast(post)) {
      before = middle;
      found = post;
    } else {
      within = middle;
      newest = post;
    }
  }
  return found ?? newest;
}

interface FirstPosts {
  channelId: string;
  /** The first post of the channel. */
  first: PostRecord;
  per_page: number;
  collapsed_threads: boolean;
}

/** The first post of a channel and other posts of the same millisecond; `isTruncated` if later posts follow. */
export async function readFirstMillisecond(
  api: MattermostApi,
  { channelId, first, per_page, collapsed_threads }: FirstPosts,
): Promise<PostPage> {
  const later = await readPostPage(api, channelId, { after: first.id, per_page: 1, collapsed_threads });
  const before = later.posts[0]?.id;
  const { posts } = await readPostPage(api, channelId, { before, per_page, collapsed_threads });
  return { posts, isTruncated: before !== undefined };
}
