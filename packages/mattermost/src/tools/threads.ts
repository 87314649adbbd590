// Tools for threads: read one with its replies, list followed threads.
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord, ThreadListRecord, ThreadRecord } from '../client/records.ts';
import { type Compact, compactThread } from './base/compact.ts';
import { findReadable, MAX_PAGE_SIZE, pageEnd } from './base/paging.ts';
import { orderedPosts, presentPosts } from './base/present.ts';
import { full, id, pageOf, perPage, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';

export const threadTools = [
  defineTool({
    name: 'get_thread',
    title: 'Read thread',
    description:
      'Read a thread by the id of any of its messages: the first message, then replies, oldest first. Pass from_post and from_create_at from "next" to continue.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'message'],
    input: {
      post_id: id(),
      per_page: perPage(),
      from_post: id().optional(),
      from_create_at: z.int().min(1).max(9_999_999_999_999).optional(),
      full: full(),
    },
    check: ({ from_post, from_create_at }) =>
      (from_post === undefined) === (from_create_at === undefined)
        ? undefined
        : 'from_post and from_create_at must be used together',
    output: pageOf('messages', record('id', 'time', 'user', 'message'), { root_id: {}, channel_id: {} }),
    async run({ post_id, per_page, from_post, from_create_at, full }, context) {
      await context.policy.requirePost(post_id, 'read');
      const list = await context.api.get<PostListRecord>(path`/posts/${post_id}/thread`, {
        perPage: per_page,
        direction: 'down',
        fromPost: from_post,
        fromCreateAt: from_create_at,
      });
      const { posts, isTruncated } = readThread(list, { per_page, from_post, from_create_at });
      const last = posts.at(-1);
      const requested = list.posts?.[post_id];
      const messages = await presentPosts(context, posts, { full });
      const next = { per_page, from_post: last?.id, from_create_at: last?.create_at };
      const location = { root_id: requested?.root_id || post_id, channel_id: requested?.channel_id };
      return { ...location, messages, ...pageEnd({ isTruncated }, next) };
    },
  }),
  defineTool({
    name: 'list_threads',
    title: 'List threads',
    description: 'List the threads this account follows in a team, most recently active first, with unread counts.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'message'],
    hasTeam: true,
    input: {
      unread: z.boolean().default(false).describe('Only threads with unread replies'),
      before: id().optional().describe('Continue after this thread'),
      per_page: z.int().min(1).max(100).default(25),
      full: full(),
    },
    output: pageOf(
      'threads',
      record('id', 'root', 'reply_count', 'unread_replies', 'unread_mentions', 'last_reply', 'participants'),
      { note: {} },
    ),
    async run({ team_id, unread, before, per_page, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      await context.names.team(team); // otherwise an unknown team looks like one without threads
      // the position of a hidden thread would reveal when it was last active
      if (before) await context.policy.requirePost(before, 'read');
      const { threads, isTruncated, hitScanLimit } = await readThreads(context, team, { unread, before, per_page });
      if (before && threads.length === 0) await context.api.get(path`/posts/${before}`);
      const next = { before: threads.at(-1)?.id, per_page };
      return {
        threads: await presentThreads(context, threads, full),
        ...pageEnd({ isTruncated, hitScanLimit }, next),
      };
    },
  }),
];

interface ThreadsRequest {
  unread: boolean;
  before?: string | undefined;
  per_page: number;
}

/** Reads one more readable thread than requested, to know whether more follow. */
export async function readThreads(
  context: ToolContext,
  team: string,
  { unread, before, per_page }: ThreadsRequest,
): Promise<{ threads: ThreadRecord[]; isTruncated: boolean; hitScanLimit: boolean }> {
  const { found, hitScanLimit } = await findReadable<ThreadRecord>(context, {
    limit: per_page + 1,
    channelOf: ({ post }) => post?.channel_id,
    read: async (_, last) => {
      const list = await context.api.get<ThreadListRecord>(path`/users/me/teams/${team}/threads`, {
        per_page: MAX_PAGE_SIZE,
        unread: unread || undefined,
        before: last?.id ?? before,
        threadsOnly: true,
      });
      const threads = list.threads ?? [];
      const isLast = threads.length < MAX_PAGE_SIZE;
      return { items: isLast ? threads : threads.slice(0, countWholeMilliseconds(threads, MAX_PAGE_SIZE - 1)), isLast };
    },
  });
  const count = countWholeMilliseconds(found, per_page);
  return { threads: found.slice(0, count), isTruncated: found.length > count, hitScanLimit };
}

/**
 * How many threads make a page: about `limit`, but never only some of the threads last active in the same millisecond, because
 * `before` skips all of them.
 */
function countWholeMilliseconds(threads: readonly ThreadRecord[], limit: number): number {
  if (threads.length <= limit) return threads.length;
  const millisecond = threads[limit]?.last_reply_at;
  const start = threads.findIndex(({ last_reply_at }) => last_reply_at === millisecond);
  const end = threads.findLastIndex(({ last_reply_at }) => last_reply_at === millisecond) + 1;
  return start > 0 ? start : end;
}

export async function presentThreads(
  context: ToolContext,
  threads: readonly ThreadRecord[],
  full: boolean,
): Promise<Compact[]> {
  const people = threads.flatMap(({ participants }) => participants?.map(({ id }) => id) ?? []);
  const users = await context.names.users(people);
  const roots = await presentPosts(
    context,
    threads.flatMap(({ post }) => post ?? []),
    { full, withChannel: true },
  );
  return threads.map((thread) => {
    const root = roots.find(({ id }) => id === thread.post?.id);
    if (full) return { ...thread, post: root };
    return compactThread(thread, root, thread.participants?.flatMap(({ id }) => users.get(id) ?? []) ?? []);
  });
}

interface ThreadPage {
  per_page: number;
  from_post?: string | undefined;
  from_create_at?: number | undefined;
}

/**
 * Every page also contains the requested message, before version 8 even twice, and servers before 6.6 send the whole
 * thread. So the page is cut here: the first posts after the start position.
 */
function readThread(
  list: PostListRecord,
  { per_page, from_post = '', from_create_at = 0 }: ThreadPage,
): { posts: PostRecord[]; isTruncated: boolean } {
  const timeOf = ({ create_at }: PostRecord) => create_at ?? 0;
  const remaining = [...new Map(orderedPosts(list).map((post) => [post.id, post])).values()]
    .filter((post) => timeOf(post) > from_create_at || (timeOf(post) === from_create_at && post.id > from_post))
    .sort((one, other) => timeOf(one) - timeOf(other) || (one.id < other.id ? -1 : 1));
  return { posts: remaining.slice(0, per_page), isTruncated: list.has_next === true || remaining.length > per_page };
}
