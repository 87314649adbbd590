// Tools for messages: post, read a channel, search, edit, delete.
import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord } from '../client/records.ts';
import { changePost } from './base/change-post.ts';
import { readChannelMessages } from './base/channel-messages.ts';
import { omitEmpty } from './base/compact.ts';
import { findRoot, requireAttachable } from './base/outgoing-post.ts';
import { pageEnd } from './base/paging.ts';
import { orderedPosts, presentPosts, presentWritten } from './base/present.ts';
import { attachments, full, id, message, page, pageOf, perPage, record, time, toMilliseconds } from './base/schemas.ts';
import { searchTeam } from './base/team-search.ts';
import { defineTool } from './base/tool.ts';
import { explainUnsupported } from './base/unsupported.ts';

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

/** Prop of every message of post_message, used to find a message again after its response was lost. */
const POST_PROP = 'pocket_agent_post';

const PRIORITY = { what: 'message priorities and acknowledgements', license: 'a Professional license' };

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
      priority: z.enum(['important', 'urgent']).optional().describe('Not for replies'),
      request_ack: z.boolean().default(false).describe('Ask readers to acknowledge it'),
      full: full(),
    },
    check({ message, root_id, file_ids, attachments, priority, request_ack }) {
      if (root_id !== undefined && (priority || request_ack)) return 'replies have no priority; leave out root_id';
      return message.trim() === '' && !file_ids?.length && !attachments?.length
        ? 'message is empty; write a message, or add file_ids or attachments'
        : undefined;
    },
    output: post,
    async run({ channel_id, message, root_id, file_ids, attachments, priority, request_ack, full }, context) {
      const { policy, names, api } = context;
      await policy.requireChannel(channel_id, 'write');
      for (const file of file_ids ?? []) await requireAttachable(context, file);
      const root = root_id === undefined ? undefined : await findRoot(context, root_id, channel_id);
      const me = await names.me();
      const wanted = priority || request_ack ? { priority: priority ?? '', requested_ack: request_ack } : undefined;
      const sent = api.createPost(
        {
          channel_id,
          message,
          ...(root ? { root_id: root } : {}),
          ...(file_ids ? { file_ids } : {}),
          ...(attachments ? { props: { attachments } } : {}),
          ...(wanted ? { metadata: { priority: wanted } } : {}),
          pending_post_id: `${me.id}:${randomBytes(10).toString('hex')}`,
        },
        POST_PROP,
      );
      const created = await (wanted ? explainUnsupported(PRIORITY, sent) : sent);
      // before version 7.7 Mattermost ignores it
      const priority_dropped = wanted !== undefined && !created.metadata?.priority;
      const dropped = file_ids?.filter((file) => !created.file_ids?.includes(file)) ?? [];
      return {
        ...(await presentWritten(context, created, full)),
        ...omitEmpty({ files_dropped: dropped, priority_dropped }),
      };
    },
  }),
  defineTool({
    name: 'get_channel_messages',
    title: 'Read channel',
    description:
      'Read messages of a channel, oldest first. Default: the newest page; "next" continues with older ones. unread_only: messages this account has not read (empty for a channel never opened). since: messages created, edited or deleted after a time, in order of change; with until: messages created between both. before/after: messages before or after a message id.',
    capability: 'read',
    effect: 'read',
    tags: ['message', 'channel'],
    input: {
      channel_id: id(),
      unread_only: z.boolean().default(false),
      since: time().optional(),
      until: time().optional(),
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
      if (args.until !== undefined) {
        if (args.since === undefined && args.after === undefined) return 'until requires since or after';
        if (args.since_post !== undefined) return 'since_post cannot be combined with until';
        if (args.since !== undefined && toMilliseconds(args.since) >= toMilliseconds(args.until))
          return 'until must be later than since';
      }
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
      const { items, end } = await searchTeam<PostRecord>(context, {
        ...{ team, terms, is_or_search, page, per_page },
        channelOf: ({ channel_id }) => channel_id,
        read: async (body) =>
          orderedPosts(await context.api.query<PostListRecord>(path`/teams/${team}/posts/search`, body)),
      });
      return { messages: await presentPosts(context, items, { full, withChannel: true }), ...end };
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
