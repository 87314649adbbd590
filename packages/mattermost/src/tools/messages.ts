// Tools for messages: post, read a channel, search, edit, delete.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, FileRecord, PostListRecord, PostRecord } from '../client/records.ts';
import { readChannelMessages } from './base/channel-messages.ts';
import { omitEmpty } from './base/compact.ts';
import { pageEnd, readFromStart } from './base/paging.ts';
import { orderedPosts, presentPosts, presentWritten } from './base/present.ts';
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
/** A database search returns one page with at most this many posts and ignores `per_page`. */
const DATABASE_SEARCH_LIMIT = 100;

/** Prop of every message of post_message, used to find a message again after its response was lost. */
const POST_PROP = 'pocket_agent_post';

export const messageTools = [
  defineTool({
    name: 'post_message',
    title: 'Post message',
    description: 'Post a message to a channel, or to a thread with root_id (any post of the thread).',
    capability: 'write',
    effect: 'additive',
    tags: ['message'],
    input: {
      channel_id: id(),
      message: message(),
      root_id: id().optional(),
      file_ids: z.array(id()).max(10).optional().describe('Ids from upload_file'),
      attachments: attachments().optional(),
      full: full(),
    },
    check: ({ message, file_ids, attachments }) =>
      message.trim() === '' && !file_ids?.length && !attachments?.length
        ? 'message is empty; write a message, or add file_ids or attachments'
        : undefined,
    output: post,
    async run({ channel_id, message, root_id, file_ids, attachments, full }, context) {
      const { policy, names, api } = context;
      await policy.requireChannel(channel_id, 'write');
      for (const file of file_ids ?? []) await requireAttachable(context, file);
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
      return { ...(await presentWritten(context, created, full)), ...omitEmpty({ files_dropped: dropped }) };
    },
  }),
  defineTool({
    name: 'get_channel_messages',
    title: 'Read channel',
    description:
      'Read messages of a channel, oldest first. Default: the newest page; "next" continues with older ones. unread_only: messages this account has not read (empty for a channel never opened). since: messages created, edited or deleted after a time, in order of change. before/after: messages before or after a message id.',
    capability: 'read',
    effect: 'read',
    tags: ['message', 'channel'],
    input: {
      channel_id: id(),
      unread_only: z.boolean().default(false),
      since: z
        .union([z.int().min(1_000_000_000_000).max(9_999_999_999_999), z.string().regex(ISO_TIME)])
        .optional()
        .describe('Milliseconds or ISO 8601 time'),
      since_post: id().optional().describe('Taken from "next"'),
      before: id().optional(),
      after: id().optional(),
      page: z.int().min(0).max(1_000_000).optional(),
      per_page: z.int().min(1).max(200).optional().describe('Default 60'),
      limit_before: z.int().min(0).max(200).optional().describe('Read messages before the first unread; default 0'),
      limit_after: z.int().min(1).max(200).optional().describe('Unread messages; default 60'),
      collapsed_threads: z.boolean().default(false).describe('Leave out replies'),
      full: full(),
    },
    check(args) {
      if (typeof args.since === 'string' && !isValidTime(args.since))
        return `since "${args.since}" is not a valid time`;
      // `after` continues a read that began with unread_only
      const isFirst = args.unread_only && args.after === undefined;
      const modes = (['unread_only', 'since', 'before', 'after'] as const).filter((mode) =>
        mode === 'unread_only' ? isFirst || (args.unread_only && (args.since || args.before)) : args[mode],
      );
      if (modes.length > 1) return `${modes.join(' and ')} cannot be combined; use one`;
      const [mode] = modes;
      if (args.per_page !== undefined && isFirst)
        return 'per_page cannot be combined with unread_only; use limit_after';
      if (args.page && mode) return `page cannot be combined with ${mode}`;
      if (args.since_post !== undefined && mode !== 'since') return 'since_post requires since';
      if (!args.unread_only && (args.limit_before !== undefined || args.limit_after !== undefined)) {
        return 'limit_before and limit_after require unread_only';
      }
      return undefined;
    },
    output: pageOf('messages', item, { channel: {}, channel_id: {} }),
    async run({ full, ...request }, context) {
      await context.policy.requireChannel(request.channel_id, 'read');
      const anchor = request.before ?? request.after;
      // the position of a hidden message would reveal when it was written
      if (anchor) await context.policy.requirePost(anchor, 'read');
      const { posts, isTruncated, next } = await readChannelMessages(context, request);
      const messages = await presentPosts(context, posts, { full });
      const channel = (await context.names.labels([request.channel_id])).get(request.channel_id);
      return { channel_id: request.channel_id, channel, messages, ...pageEnd({ isTruncated }, next) };
    },
  }),
  defineTool({
    name: 'search_messages',
    title: 'Search messages',
    description:
      'Search the messages of a team, newest first. terms supports "a phrase", from:name, in:channel, before:/after:/on:2026-01-31, -word and word*.',
    capability: 'read',
    effect: 'read',
    tags: ['message'],
    hasTeam: true,
    input: {
      terms: z.string().min(1).max(512),
      is_or_search: z.boolean().default(false).describe('Match any word instead of all'),
      page: page(),
      per_page: perPage(),
      full: full(),
    },
    output: pageOf('messages', item, { note: {} }),
    async run({ team_id, terms, is_or_search, page, per_page, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      const exclusions = await hiddenChannelTerms(context, team);
      const { items, isTruncated, hitScanLimit, count } = await readFromStart<PostRecord>(context, {
        page,
        per_page,
        channelOf: ({ channel_id }) => channel_id,
        async read(page, per_page) {
          // exclusions come first: a modifier at the end of the terms would take the next word as its value
          const body = { terms: exclusions + withoutAtSigns(terms), is_or_search, page, per_page, time_zone_offset: 0 };
          return orderedPosts(await context.api.query<PostListRecord>(path`/teams/${team}/posts/search`, body));
        },
      });
      const messages = await presentPosts(context, items, { full, withChannel: true });
      if (hitScanLimit || (!isTruncated && count === DATABASE_SEARCH_LIMIT))
        return {
          messages,
          truncated: true,
          note: 'There may be more results: narrow the search with before:, in: or from:.',
        };
      return { messages, ...pageEnd({ isTruncated }, { page: page + 1, per_page }) };
    },
  }),
  defineTool({
    name: 'update_message',
    title: 'Edit message',
    description: 'Replace the text of a message and, if given, its attachments.',
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
    description:
      'Delete a message for everyone; deleting the first message of a thread deletes the thread. Cannot be undone.',
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

/** Mattermost attaches a file to only one message of its uploader and drops other files silently. */
async function requireAttachable(context: ToolContext, fileId: string): Promise<void> {
  await context.policy.requireFile(fileId, 'read');
  const { post_id, user_id } = await context.api.get<FileRecord>(path`/files/${fileId}/info`);
  const reason = post_id
    ? `is already attached to message ${post_id}`
    : user_id && user_id !== (await context.names.me()).id
      ? 'was uploaded by another account'
      : undefined;
  if (reason === undefined) return;
  const text = `file_ids: ${fileId} ${reason}, so Mattermost would drop it. Upload it again with upload_file.`;
  throw new MattermostError('ARGUMENTS_INVALID', text);
}

/** Removes the @ of `from:@alice`, which Mattermost would treat as part of the name. */
function withoutAtSigns(terms: string): string {
  return terms.replace(/(?<=(?:^|\s)-?from:\s*)@/gi, '');
}

/** `Date` alone accepts 30 February as 2 March. */
function isValidTime(text: string): boolean {
  const day = text.slice(0, 10);
  return !Number.isNaN(Date.parse(text)) && new Date(day).toISOString().startsWith(day);
}

/** Search terms that exclude hidden channels, so that their posts do not use up the limit of results. */
async function hiddenChannelTerms({ api, names, policy }: ToolContext, team: string): Promise<string> {
  if (policy.isUnrestricted('read')) return '';
  const channels = await api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`);
  names.rememberChannels(channels);
  const readable = new Set(await policy.filterReadable(channels, ({ id }) => id));
  return channels.map((one) => (readable.has(one) ? '' : `-in:${one.name || one.id} `)).join('');
}

/** Returns the first post of a thread. Models often give the last one, which Mattermost does not accept. */
async function findRoot({ api, policy }: ToolContext, postId: string, channelId: string): Promise<string> {
  const posts = await api.get<PostRecord>(path`/posts/${postId}`).then(
    (post) => [post],
    (error) => {
      if (isMattermostError(error, 'NOT_FOUND')) return [];
      throw error;
    },
  );
  const [found] = await policy.filterReadable(posts, ({ channel_id }) => channel_id);
  if (!found) {
    const text = `Resource not found: message ${postId} does not exist. Check root_id; get valid ids from channel or search tools.`;
    throw new MattermostError('NOT_FOUND', text);
  }
  if (found.channel_id && found.channel_id !== channelId) {
    const text = `root_id ${postId} is in channel ${found.channel_id}, not in ${channelId}; use the channel of the thread.`;
    throw new MattermostError('ARGUMENTS_INVALID', text);
  }
  return found.root_id || found.id;
}
