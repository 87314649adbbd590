// Pages of a channel's posts. Mattermost's `before` and `after` skip all posts of the anchor's millisecond, so a page always
// ends with the last post of a millisecond, even if it then exceeds the requested size.
import type { MattermostApi } from '../../client/api.ts';
import { path } from '../../client/path.ts';
import type { PostListRecord, PostRecord } from '../../client/records.ts';
import { MAX_PAGE_SIZE } from './paging.ts';
import { orderedPosts } from './present.ts';

interface PostPageRequest {
  before?: string | undefined;
  after?: string | undefined;
  page?: number | undefined;
  per_page: number;
  collapsed_threads?: boolean;
}

export interface PostPage {
  /** Oldest first. */
  posts: PostRecord[];
  isTruncated: boolean;
}

/** Reads the newest posts, or the posts before or after one. */
export async function readPostPage(
  api: MattermostApi,
  channelId: string,
  { before, after, page = 0, per_page, collapsed_threads }: PostPageRequest,
): Promise<PostPage> {
  const collapsedThreads = collapsed_threads || undefined;
  const anchor = { before, after, collapsedThreads, skipFetchThreads: true };
  const read = async (page: number, per_page: number) => {
    const list = await api.get<PostListRecord>(path`/channels/${channelId}/posts`, { ...anchor, page, per_page });
    return after === undefined ? orderedPosts(list) : orderedPosts(list).reverse();
  };
  const { posts, isTruncated } = await readWholeMilliseconds({
    read,
    page,
    perPage: per_page,
    isForward: after !== undefined,
  });
  return { posts: after === undefined ? posts.reverse() : posts, isTruncated };
}

interface Reading {
  read(page: number, perPage: number): Promise<PostRecord[]>;
  page: number;
  perPage: number;
  /** Whether the oldest posts come first. */
  isForward: boolean;
}

async function readWholeMilliseconds(reading: Reading): Promise<PostPage> {
  const { read, page, perPage } = reading;
  if (page === 0 && perPage < MAX_PAGE_SIZE) {
    // requesting one extra post shows in a single request whether more follow
    const posts = await read(0, perPage + 1);
    if (posts.length <= perPage) return { posts, isTruncated: false };
    const isSplit = posts[perPage]?.create_at === posts[perPage - 1]?.create_at;
    if (!isSplit) return { posts: posts.slice(0, perPage), isTruncated: true };
  }
  return readSplitMillisecond(reading);
}

/** New posts between two requests shift the pages, so a post can appear twice or out of order. */
async function readSplitMillisecond({ read, page, perPage, isForward }: Reading): Promise<PostPage> {
  const posts = await read(page, perPage);
  const seen = new Set(posts.map(({ id }) => id));
  const millisecond = posts.at(-1)?.create_at ?? 0;
  const isLater = ({ create_at }: PostRecord) => (isForward ? 1 : -1) * ((create_at ?? 0) - millisecond) > 0;
  let isFull = posts.length >= perPage;
  for (let next = page + 1; isFull; next++) {
    const [following] = await read(next * perPage, 1);
    if (!following) break;
    if (isLater(following)) return { posts, isTruncated: true };
    const more = await read(next, perPage);
    const same = more.filter(({ id, create_at }) => create_at === millisecond && !seen.has(id));
    for (const { id } of same) seen.add(id);
    posts.push(...same);
    if (more.some(isLater)) return { posts, isTruncated: true };
    isFull = more.length >= perPage;
  }
  return { posts, isTruncated: false };
}

const MAX_PAGES = 25;

/** Posts created after a time, oldest first. Reads backwards from the newest, at most MAX_PAGES pages. */
export async function readCreatedSince(api: MattermostApi, channelId: string, since: number): Promise<PostRecord[]> {
  const pages: PostRecord[][] = [];
  let before: string | undefined;
  for (let number = 0; number < MAX_PAGES; number++) {
    const { posts, isTruncated } = await readPostPage(api, channelId, { before, per_page: MAX_PAGE_SIZE });
    pages.unshift(posts);
    before = posts[0]?.id;
    if (!isTruncated || (posts[0]?.create_at ?? 0) <= since) break;
  }
  return pages.flat().filter(({ create_at }) => (create_at ?? 0) > since);
}

/** Creation time of the newest post. A response to `since` may be empty although it exists: see `readChanges`. */
export async function newestPostTime(api: MattermostApi, channelId: string): Promise<number> {
  const query = { per_page: 1, skipFetchThreads: true };
  const [newest] = orderedPosts(await api.get<PostListRecord>(path`/channels/${channelId}/posts`, query));
  return newest?.create_at ?? 0;
}
