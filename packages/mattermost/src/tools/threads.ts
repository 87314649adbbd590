// Threads: one with its replies, page by page, and those this account follows.
import { z } from 'zod';
import type { ToolContext } from '../account/caller.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord, ThreadListRecord, ThreadRecord } from '../client/records.ts';
import { type Compact, compactThread } from './base/compact.ts';
import { CUT, findReadable, LARGEST_PAGE } from './base/paging.ts';
import { paged, postsOf, presentPosts } from './base/present.ts';
import { full, id, pageOf, perPage, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';

export const threadTools = [
  defineTool({
    name: 'get_thread',
    title: 'Read thread',
    description:
      'A thread by any of its messages: the first one, then its replies, oldest first. Give from_post and from_create_at of "next" for more.',
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
        : 'from_post and from_create_at go together',
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
      const asked = list.posts?.[post_id];
      const messages = await presentPosts(context, posts, { full });
      const next = { per_page, from_post: last?.id, from_create_at: last?.create_at };
      const place = { root_id: asked?.root_id || post_id, channel_id: asked?.channel_id };
      return { ...place, messages, ...paged(isTruncated, next) };
    },
  }),
  defineTool({
    name: 'list_threads',
    title: 'List threads',
    description: 'Threads of a team that this account follows, last active first, with unread counts.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'message'],
    hasTeam: true,
    input: {
      unread: z.boolean().default(false).describe('Only those with unread replies'),
      before: id().optional().describe('Thread to go on after'),
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
      await context.names.team(team); // an unknown team would only have no threads
      // where a thread stands in the list tells when it was last answered
      if (before) await context.policy.requirePost(before, 'read');
      const { threads, isTruncated, isCut } = await readThreads(context, team, { unread, before, per_page });
      if (before && threads.length === 0) await context.api.get(path`/posts/${before}`);
      const next = { before: threads.at(-1)?.id, per_page };
      return { threads: await presentThreads(context, threads, full), ...(isCut ? CUT : paged(isTruncated, next)) };
    },
  }),
];

interface ThreadsRequest {
  unread: boolean;
  before?: string | undefined;
  per_page: number;
}

/** Those that may be read. One more than wanted is looked for, to know whether there is more. */
export async function readThreads(
  context: ToolContext,
  team: string,
  { unread, before, per_page }: ThreadsRequest,
): Promise<{ threads: ThreadRecord[]; isTruncated: boolean; isCut: boolean }> {
  const { found, isCut } = await findReadable<ThreadRecord>(context, {
    most: per_page + 1,
    channelOf: ({ post }) => post?.channel_id,
    read: async (_, last) => {
      const list = await context.api.get<ThreadListRecord>(path`/users/me/teams/${team}/threads`, {
        per_page: LARGEST_PAGE,
        unread: unread || undefined,
        before: last?.id ?? before,
        threadsOnly: true,
      });
      const threads = list.threads ?? [];
      const isLast = threads.length < LARGEST_PAGE;
      return { items: isLast ? threads : threads.slice(0, wholeMoments(threads, LARGEST_PAGE - 1)), isLast };
    },
  });
  const count = wholeMoments(found, per_page);
  return { threads: found.slice(0, count), isTruncated: found.length > count, isCut };
}

/**
 * How many of the threads make a page: at most `most`, but all that were answered in the same millisecond as the last one
 * or none of them, because `before` leaves out all of that millisecond.
 */
function wholeMoments(threads: readonly ThreadRecord[], most: number): number {
  if (threads.length <= most) return threads.length;
  const moment = threads[most]?.last_reply_at;
  const start = threads.findIndex(({ last_reply_at }) => last_reply_at === moment);
  const end = threads.findLastIndex(({ last_reply_at }) => last_reply_at === moment) + 1;
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
 * The message that was asked for comes along with every page, before version 8 even twice, and belongs to one of them; a
 * server before 6.6 sends the whole thread. So the page is what comes first after the place it starts from.
 */
function readThread(
  list: PostListRecord,
  { per_page, from_post = '', from_create_at = 0 }: ThreadPage,
): { posts: PostRecord[]; isTruncated: boolean } {
  const timeOf = ({ create_at }: PostRecord) => create_at ?? 0;
  const left = [...new Map(postsOf(list).map((post) => [post.id, post])).values()]
    .filter((post) => timeOf(post) > from_create_at || (timeOf(post) === from_create_at && post.id > from_post))
    .sort((one, other) => timeOf(one) - timeOf(other) || (one.id < other.id ? -1 : 1));
  return { posts: left.slice(0, per_page), isTruncated: list.has_next === true || left.length > per_page };
}
