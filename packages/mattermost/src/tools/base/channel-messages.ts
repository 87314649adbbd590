// Reads messages of a channel: by page, around a message, since a time, or unread; always with an exact `truncated`.
import type { ToolContext } from '../../account/account.ts';
import { requireMember } from '../../account/membership.ts';
import { isMattermostError, MattermostError } from '../../base/errors.ts';
import { path } from '../../client/path.ts';
import type { PostListRecord, PostRecord } from '../../client/records.ts';
import { readCreatedBetween, readFirstMillisecond } from './by-time.ts';
import { newestPostTime, type PostPage, readCreatedSince, readPostPage } from './post-pages.ts';
import { orderedPosts } from './present.ts';
import { toMilliseconds } from './schemas.ts';

interface ChannelMessagesRequest {
  channel_id: string;
  unread_only: boolean;
  since?: number | string | undefined;
  /** Changes in the millisecond `since` up to this message id were returned before. */
  since_post?: string | undefined;
  /** With `since` or `after`: messages created up to this time. */
  until?: number | string | undefined;
  before?: string | undefined;
  after?: string | undefined;
  page?: number | undefined;
  per_page?: number | undefined;
  limit_before?: number | undefined;
  limit_after?: number | undefined;
  collapsed_threads: boolean;
}

interface Messages extends PostPage {
  next: Record<string, unknown>;
}

const DEFAULT_PAGE = 60;
/** Mattermost returns at most this many posts for `since`. */
const SINCE_LIMIT = 1000;

export async function readChannelMessages(context: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  if (request.unread_only && request.after === undefined) return readUnread(context, request);
  const { since, until } = request;
  if (since !== undefined && until === undefined) return readSince(context, request, toMilliseconds(since));
  const anchor = request.before ?? request.after;
  const isAnchorFound = anchor === undefined || (await isInChannel(context, anchor, request.channel_id));
  const messages = await (until === undefined
    ? readAround(context, request)
    : readUntil(context, { ...request, until }));
  if (!isAnchorFound && messages.posts.length === 0) throw unknownAnchor(anchor);
  return messages;
}

/** Reads the newest page, a numbered page, or the messages before or after one. */
async function readAround({ api }: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  const { channel_id, before, after, page, per_page = DEFAULT_PAGE, collapsed_threads } = request;
  const query = { before, after, page, per_page, collapsed_threads };
  const { posts, isTruncated } = await readPostPage(api, channel_id, query);
  const edge = after === undefined ? { before: posts[0]?.id } : { after: posts.at(-1)?.id };
  const next = { ...edge, ...(page === undefined ? {} : { page: 0 }), per_page, ...threads(request) };
  return { posts, isTruncated, next };
}

/** Reads messages by the time they were created. */
async function readUntil(
  { api }: ToolContext,
  { until, ...request }: ChannelMessagesRequest & { until: number | string },
): Promise<Messages> {
  const { channel_id: channelId, since = 0, after, per_page = DEFAULT_PAGE, collapsed_threads } = request;
  const times = { since: toMilliseconds(since), until: toMilliseconds(until) };
  const page = await readCreatedBetween(api, { channelId, ...times, after, per_page, collapsed_threads });
  return { ...page, next: { after: page.posts.at(-1)?.id, until, per_page, ...threads(request) } };
}

function threads({ collapsed_threads }: ChannelMessagesRequest): { collapsed_threads?: true } {
  return collapsed_threads ? { collapsed_threads } : {};
}

/** False for a deleted message, which keeps its place in the order although Mattermost no longer returns it. */
async function isInChannel({ api }: ToolContext, postId: string, channelId: string): Promise<boolean> {
  try {
    const post = await api.get<PostRecord>(path`/posts/${postId}`);
    if (post.channel_id === channelId) return true;
  } catch (error) {
    if (isMattermostError(error, 'NOT_FOUND')) return false;
    throw error;
  }
  throw new MattermostError(
    'ARGUMENTS_INVALID',
    `Message ${postId} is in another channel; use a message of this channel.`,
  );
}

function unknownAnchor(postId: string | undefined): MattermostError {
  const text = `Resource not found: message ${postId} does not exist or was deleted. Use the id of another message.`;
  return new MattermostError('NOT_FOUND', text);
}

/** Reads changes in the order in which they were made. */
async function readSince(context: ToolContext, request: ChannelMessagesRequest, since: number): Promise<Messages> {
  const { per_page = DEFAULT_PAGE, since_post = '' } = request;
  const changes = await readChanges(context, request, since);
  const remaining = changes
    .filter((post) => changedAt(post) > since || (changedAt(post) === since && post.id > since_post))
    .sort((one, other) => changedAt(one) - changedAt(other) || (one.id < other.id ? -1 : 1));
  const posts = remaining.slice(0, per_page);
  const last = posts.at(-1);
  const cursor = last
    ? { since: changedAt(last), since_post: last.id }
    : { since: Math.max(...changes.map(changedAt)) };
  const isTruncated = remaining.length > per_page || changes.length >= SINCE_LIMIT;
  return { posts, isTruncated, next: { ...cursor, per_page, ...threads(request) } };
}

/**
 * Mattermost caches the time of the last change it returned, even if that response was cut at its limit, and then returns
 * nothing from that time on. So a cursor asks from the millisecond before it. If newer messages exist although the response
 * is empty, because another client got a response that was cut, they are read page by page.
 */
async function readChanges(
  { api }: ToolContext,
  { channel_id, since_post, collapsed_threads }: ChannelMessagesRequest,
  since: number,
): Promise<PostRecord[]> {
  const query = { since: since_post ? since - 1 : since, collapsedThreads: collapsed_threads || undefined };
  const changes = orderedPosts(await api.get<PostListRecord>(path`/channels/${channel_id}/posts`, query));
  if (changes.length > 0 || (await newestPostTime(api, channel_id)) <= since) return changes;
  return (await readCreatedSince(api, channel_id, since)).filter(({ root_id }) => !(collapsed_threads && root_id));
}

function changedAt({ update_at, create_at }: PostRecord): number {
  return update_at ?? create_at ?? 0;
}

/** Mattermost finds the first unread message; reading continues from the last read message before it. */
async function readUnread({ api }: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  const { channel_id, limit_before = 0, limit_after = DEFAULT_PAGE, collapsed_threads } = request;
  const query = { limit_before: Math.max(1, limit_before), limit_after: 1 };
  const [list, { last_viewed_at }] = await Promise.all([
    api.get<PostListRecord>(path`/users/me/channels/${channel_id}/posts/unread`, {
      ...query,
      collapsedThreads: collapsed_threads || undefined,
      skipFetchThreads: true,
    }),
    requireMember(api, channel_id, 'only members of a channel have unread messages in it'),
  ]);
  const surrounding = orderedPosts(list).reverse();
  const read = surrounding.filter(({ create_at }) => (create_at ?? 0) <= (last_viewed_at ?? 0));
  const [first] = surrounding.slice(read.length);
  const readPosts = read.slice(read.length - Math.min(limit_before, read.length));
  const next = { per_page: limit_after, ...threads(request) };
  if (!first) return { posts: readPosts, isTruncated: false, next };
  const after = read.at(-1)?.id;
  const page = after
    ? await readPostPage(api, channel_id, { after, per_page: limit_after, collapsed_threads })
    : await readFirstMillisecond(api, { channelId: channel_id, first, per_page: limit_after, collapsed_threads });
  return {
    posts: [...readPosts, ...page.posts],
    isTruncated: page.isTruncated,
    next: { after: page.posts.at(-1)?.id, ...next },
  };
}
