// A channel read by page, around a message, since a time, or what is unread, each with a true end.
import type { ToolContext } from '../caller.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord } from '../client/records.ts';
import { postsOf } from './present.ts';

export interface ChannelMessagesRequest {
  channel_id: string;
  unread_only: boolean;
  since?: number | string | undefined;
  before?: string | undefined;
  after?: string | undefined;
  page?: number | undefined;
  per_page?: number | undefined;
  limit_before?: number | undefined;
  limit_after?: number | undefined;
  collapsed_threads: boolean;
}

interface Messages {
  /** Oldest first. */
  posts: PostRecord[];
  isTruncated: boolean;
  next: Record<string, unknown>;
}

/** What Mattermost gives at most for `since`; which of them, it does not promise. */
const SINCE_LIMIT = 1000;

export function readChannelMessages(context: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  if (request.unread_only) return readUnread(context, request);
  if (request.since !== undefined) return readSince(context, request, Number(new Date(request.since)));
  return request.after === undefined ? readOlder(context, request) : readNewer(context, request, request.after);
}

/** The newest page, the page of a number, or the messages before one. */
async function readOlder(context: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  const { before, page = 0, per_page = 60 } = request;
  const list = await readList(context, request, { before, page: before ? undefined : page, per_page });
  const posts = postsOf(list);
  const oldest = posts.at(-1);
  const isTruncated =
    list.prev_post_id == null
      ? posts.length >= per_page && (await findOlder(context, request, oldest)) !== undefined
      : list.prev_post_id !== '';
  return { posts: posts.reverse(), isTruncated, next: { before: oldest?.id, per_page } };
}

async function readNewer(context: ToolContext, request: ChannelMessagesRequest, after: string): Promise<Messages> {
  const { per_page = 60 } = request;
  const list = await readList(context, request, { after, per_page });
  const posts = postsOf(list);
  const isTruncated = list.next_post_id == null ? posts.length >= per_page : list.next_post_id !== '';
  return { posts: posts.toReversed(), isTruncated, next: { after: posts[0]?.id, per_page } };
}

async function readSince(context: ToolContext, request: ChannelMessagesRequest, since: number): Promise<Messages> {
  const collapsedThreads = request.collapsed_threads || undefined;
  const read = async (from: number) => postsOf(await readList(context, request, { since: from, collapsedThreads }));
  const posts = await read(since);
  if (posts.length < SINCE_LIMIT) return { posts: posts.reverse(), isTruncated: false, next: {} };
  const latest = Math.max(...posts.map(changedAt));
  const oldest = posts.at(-1);
  const [newer] = await read(latest);
  const older = await findOlder(context, request, oldest);
  const isTruncated = newer !== undefined || (older !== undefined && changedAt(older) > since);
  return { posts: posts.reverse(), isTruncated, next: newer ? { since: latest } : { before: oldest?.id } };
}

function changedAt({ update_at, create_at }: PostRecord): number {
  return update_at ?? create_at ?? 0;
}

async function readUnread({ api }: ToolContext, request: ChannelMessagesRequest): Promise<Messages> {
  const { channel_id, limit_before = 0, limit_after = 60 } = request;
  const collapsedThreads = request.collapsed_threads || undefined;
  const list = await api.get<PostListRecord>(path`/users/me/channels/${channel_id}/posts/unread`, {
    limit_before,
    limit_after,
    collapsedThreads,
  });
  const posts = postsOf(list);
  const isTruncated = list.next_post_id == null ? posts.length >= limit_before + limit_after : list.next_post_id !== '';
  return { posts: posts.toReversed(), isTruncated, next: { after: posts[0]?.id } };
}

/** The message right before the oldest one we have. */
async function findOlder(
  context: ToolContext,
  request: ChannelMessagesRequest,
  oldest: PostRecord | undefined,
): Promise<PostRecord | undefined> {
  if (!oldest) return undefined;
  const [older] = postsOf(await readList(context, request, { before: oldest.id, per_page: 1 }));
  return older;
}

function readList(
  { api }: ToolContext,
  { channel_id }: ChannelMessagesRequest,
  query: Record<string, string | number | boolean | undefined>,
): Promise<PostListRecord> {
  return api.get(path`/channels/${channel_id}/posts`, query);
}
