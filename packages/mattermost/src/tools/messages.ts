// Messages: writing, reading a channel in one of several ways, searching, editing, deleting.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolContext } from '../account/caller.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, FileRecord, PostListRecord, PostRecord } from '../client/records.ts';
import { readChannelMessages } from './base/channel-messages.ts';
import { tidy } from './base/compact.ts';
import { readFromStart } from './base/paging.ts';
import { paged, postsOf, presentPosts, presentWritten } from './base/present.ts';
import { attachments, full, id, message, page, pageOf, perPage, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { changePost } from './change-post.ts';

export const post = record(
  'id',
  'time',
  'user',
  'user_id',
  'channel',
  'channel_id',
  'root_id',
  'message',
  'files',
  'reactions',
);
const item = record('id', 'time', 'user', 'message');
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;
/** What a search in the database gives at most, on its first page; it has no other, and knows no smaller ones. */
const DATABASE_SEARCH_LIMIT = 100;

/** In the props of every message of post_message; by it a message whose answer was lost is found again. */
const POST_PROP = 'pocket_agent_post';

export const messageTools = [
  defineTool({
    name: 'post_message',
    title: 'Post message',
    description: 'Write in a channel, or with root_id in a thread (any post of the thread will do).',
    capability: 'write',
    effect: 'additive',
    tags: ['message'],
    input: {
      channel_id: id(),
      message: message(),
      root_id: id().optional(),
      file_ids: z.array(id()).max(10).optional().describe('From upload_file'),
      attachments: attachments().optional(),
      full: full(),
    },
    check: ({ message, file_ids, attachments }) =>
      message.trim() === '' && !file_ids?.length && !attachments?.length
        ? 'message is empty; write something, or give file_ids or attachments'
        : undefined,
    output: post,
    async run({ channel_id, message, root_id, file_ids, attachments, full }, context) {
      const { policy, names, api } = context;
      await policy.requireChannel(channel_id, 'write');
      for (const file of file_ids ?? []) await requireUsable(context, file);
      const root = root_id === undefined ? undefined : await findRoot(context, root_id, channel_id);
      const me = await names.me();
      const created = await api.createPost(
        {
          channel_id,
          message,
          ...(root ? { root_id: root } : {}),
          ...(file_ids ? { file_ids } : {}),
          ...(attachments ? { props: { attachments } } : {}),
          pending_post_id: `${me.id}:${randomBytes(10).toString('hex')}`,
        },
        POST_PROP,
      );
      const dropped = file_ids?.filter((file) => !created.file_ids?.includes(file)) ?? [];
      return { ...(await presentWritten(context, created, full)), ...tidy({ files_dropped: dropped }) };
    },
  }),
  defineTool({
    name: 'get_channel_messages',
    title: 'Read channel',
    description:
      'Messages of a channel, oldest first. By default the newest page; "next" leads to older ones. unread_only: what this account has not read (empty for a channel never opened). since: what was written, edited or deleted after a time, in that order. before/after: around a message.',
    capability: 'read',
    effect: 'read',
    tags: ['message', 'channel'],
    input: {
      channel_id: id(),
      unread_only: z.boolean().default(false),
      since: z
        .union([z.int().min(1_000_000_000_000).max(9_999_999_999_999), z.string().regex(ISO_TIME)])
        .optional()
        .describe('Milliseconds or ISO time'),
      since_post: id().optional().describe('From "next"'),
      before: id().optional(),
      after: id().optional(),
      page: z.int().min(0).max(1_000_000).optional(),
      per_page: z.int().min(1).max(200).optional().describe('Default 60'),
      limit_before: z.int().min(0).max(200).optional().describe('Read ones before the first unread; default 0'),
      limit_after: z.int().min(1).max(200).optional().describe('Unread ones; default 60'),
      collapsed_threads: z.boolean().default(false).describe('Leave replies out'),
      full: full(),
    },
    check(args) {
      if (typeof args.since === 'string' && !isTime(args.since)) return `since "${args.since}" is no time`;
      // `after` leads from a page of unread_only to the next
      const isFirst = args.unread_only && args.after === undefined;
      const modes = (['unread_only', 'since', 'before', 'after'] as const).filter((mode) =>
        mode === 'unread_only' ? isFirst || (args.unread_only && (args.since || args.before)) : args[mode],
      );
      if (modes.length > 1) return `${modes.join(' and ')} exclude each other; give one`;
      const [mode] = modes;
      if (args.per_page !== undefined && isFirst) return 'per_page does not go with unread_only; use limit_after';
      if (args.page && mode) return `page does not go with ${mode}`;
      if (args.since_post !== undefined && mode !== 'since') return 'since_post goes with since';
      if (!args.unread_only && (args.limit_before !== undefined || args.limit_after !== undefined)) {
        return 'limit_before and limit_after go with unread_only';
      }
      return undefined;
    },
    output: pageOf('messages', item, { channel: {}, channel_id: {} }),
    async run({ full, ...request }, context) {
      await context.policy.requireChannel(request.channel_id, 'read');
      const anchor = request.before ?? request.after;
      // where another message would stand in this channel tells when it was written
      if (anchor) await context.policy.requirePost(anchor, 'read');
      const { posts, isTruncated, next } = await readChannelMessages(context, request);
      const messages = await presentPosts(context, posts, { full });
      const channel = (await context.names.labels([request.channel_id])).get(request.channel_id);
      return { channel_id: request.channel_id, channel, messages, ...paged(isTruncated, next) };
    },
  }),
  defineTool({
    name: 'search_messages',
    title: 'Search messages',
    description:
      'Search a team, newest first. terms takes "a phrase", from:name, in:channel, before:/after:/on:2026-01-31, -word and word*.',
    capability: 'read',
    effect: 'read',
    tags: ['message'],
    hasTeam: true,
    input: {
      terms: z.string().min(1).max(512),
      is_or_search: z.boolean().default(false).describe('Any word instead of all'),
      page: page(),
      per_page: perPage(),
      full: full(),
    },
    output: pageOf('messages', item, { note: {} }),
    async run({ team_id, terms, is_or_search, page, per_page, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      const exclusions = await hiddenChannels(context, team);
      const { items, isTruncated, isCut, count } = await readFromStart<PostRecord>(context, {
        page,
        per_page,
        channelOf: ({ channel_id }) => channel_id,
        async read(page, per_page) {
          // before the terms, as a modifier at their end takes the next word for its value
          const body = { terms: exclusions + plainNames(terms), is_or_search, page, per_page, time_zone_offset: 0 };
          return postsOf(await context.api.ask<PostListRecord>(path`/teams/${team}/posts/search`, body));
        },
      });
      const messages = await presentPosts(context, items, { full, withChannel: true });
      if (isCut || (!isTruncated && count === DATABASE_SEARCH_LIMIT))
        return { messages, truncated: true, note: 'There may be more: narrow it with before:, in: or from:.' };
      return { messages, ...paged(isTruncated, { page: page + 1, per_page }) };
    },
  }),
  defineTool({
    name: 'update_message',
    title: 'Edit message',
    description: 'Replace the text of a message; attachments, when given, replace those it has. The rest stays.',
    capability: 'write',
    effect: 'additive',
    tags: ['message'],
    input: { post_id: id(), message: message(), attachments: attachments().optional(), full: full() },
    check: ({ message, attachments }) =>
      message.trim() === '' && !attachments ? 'message is empty; use delete_message to remove it' : undefined,
    output: post,
    async run({ post_id, message, attachments, full }, context) {
      const updated = await changePost(context, post_id, async ({ api }) => {
        const { props } = attachments ? await api.get<PostRecord>(path`/posts/${post_id}`) : {};
        const body = attachments ? { message, props: { ...props, attachments } } : { message };
        return api.put<PostRecord>(path`/posts/${post_id}/patch`, body);
      });
      return presentWritten(context, updated, full);
    },
  }),
  defineTool({
    name: 'delete_message',
    title: 'Delete message',
    description: 'Delete a message for everybody; with a first message its whole thread goes. Cannot be undone.',
    capability: 'delete',
    effect: 'destructive',
    tags: ['message'],
    input: { post_id: id() },
    output: record('post_id', 'ok'),
    async run({ post_id }, context) {
      await changePost(context, post_id, ({ api }) => api.delete(path`/posts/${post_id}`));
      return { ok: true, post_id };
    },
  }),
];

/** Mattermost puts a file into one message, of the account that uploaded it, and drops others silently. */
async function requireUsable(context: ToolContext, fileId: string): Promise<void> {
  await context.policy.requireFile(fileId, 'read');
  const { post_id, user_id } = await context.api.get<FileRecord>(path`/files/${fileId}/info`);
  const reason = post_id
    ? `is in message ${post_id} already`
    : user_id && user_id !== (await context.names.me()).id
      ? 'was uploaded by another account'
      : undefined;
  if (reason === undefined) return;
  const text = `file_ids: ${fileId} ${reason}, and Mattermost would leave it out. Upload it again with upload_file.`;
  throw new MattermostError('ARGUMENTS_INVALID', text);
}

/** `from:@alice` finds nothing: Mattermost takes the @ for a part of the name. */
function plainNames(terms: string): string {
  return terms.replace(/(?<=(?:^|\s)-?from:\s*)@/gi, '');
}

/** `Date` takes 30 February for 2 March. */
function isTime(text: string): boolean {
  const day = text.slice(0, 10);
  return !Number.isNaN(Date.parse(text)) && new Date(day).toISOString().startsWith(day);
}

/** For Mattermost to leave out itself: those it finds there would take the place of others when it finds too many. */
async function hiddenChannels({ api, names, policy }: ToolContext, team: string): Promise<string> {
  if (policy.isOpen('read')) return '';
  const channels = await api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`);
  names.rememberChannels(channels);
  const readable = new Set(await policy.readable(channels, ({ id }) => id));
  return channels.map((one) => (readable.has(one) ? '' : `-in:${one.name || one.id} `)).join('');
}

/** Models give the last post of a thread; Mattermost takes only the first. */
async function findRoot({ api, policy }: ToolContext, postId: string, channelId: string): Promise<string> {
  const posts = await api.get<PostRecord>(path`/posts/${postId}`).then(
    (post) => [post],
    (error) => {
      if (isMattermostError(error, 'NOT_FOUND')) return [];
      throw error;
    },
  );
  const [found] = await policy.readable(posts, ({ channel_id }) => channel_id);
  if (!found) {
    const text = `Resource not found: there is no message ${postId} to answer. Check root_id; channel and search tools give right ones.`;
    throw new MattermostError('NOT_FOUND', text);
  }
  if (found.channel_id && found.channel_id !== channelId) {
    const text = `root_id ${postId} is in channel ${found.channel_id}, not in ${channelId}; use the channel of the thread.`;
    throw new MattermostError('ARGUMENTS_INVALID', text);
  }
  return found.root_id || found.id;
}
