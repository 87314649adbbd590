// Tools for saved messages.
import type { ToolContext } from '../account/account.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord } from '../client/records.ts';
import { pageEnd, readReadablePage } from './base/paging.ts';
import { orderedPosts, presentPosts } from './base/present.ts';
import { full, id, page, pageOf, perPage, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';

export const savedTools = [
  defineTool({
    name: 'list_saved_messages',
    title: 'List saved messages',
    description: 'List the messages this account saved, newest first, optionally of one team or channel.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'message'],
    input: { team_id: id().optional(), channel_id: id().optional(), page: page(), per_page: perPage(), full: full() },
    output: pageOf('messages', record('id', 'time', 'user', 'message', 'channel', 'channel_id'), { note: {} }),
    async run({ team_id, channel_id, page, per_page, full }, context) {
      if (channel_id) await context.policy.requireChannel(channel_id, 'read');
      const me = await context.names.me();
      const { items, isTruncated, hitScanLimit } = await readReadablePage<PostRecord>(context, {
        page,
        per_page,
        channelOf: (post) => post.channel_id,
        async read(page, per_page) {
          // here Mattermost uses `page` as an offset
          const query = { team_id, channel_id, page: page * per_page, per_page };
          return orderedPosts(await context.api.get<PostListRecord>(path`/users/${me.id}/posts/flagged`, query));
        },
      });
      const messages = await presentPosts(context, items, { full, withChannel: true });
      return { messages, ...pageEnd({ isTruncated, hitScanLimit }, { page: page + 1 }) };
    },
  }),
  defineFlag('save_message', {
    title: 'Save message',
    description: 'Save a message for later, for this account only.',
    change: ({ api }, flag) => api.put(path`/users/${flag.user_id}/preferences`, [flag]),
  }),
  defineFlag('unsave_message', {
    title: 'Unsave message',
    description: 'Remove a message from the saved messages.',
    change: ({ api }, flag) => api.post(path`/users/${flag.user_id}/preferences/delete`, [flag]),
  }),
];

interface Flag {
  user_id: string;
  category: string;
  name: string;
  value: string;
}

interface FlagTool {
  title: string;
  description: string;
  change(context: ToolContext, flag: Flag): Promise<object>;
}

/** Mattermost stores saved messages as preferences of the account. */
function defineFlag(name: string, { title, description, change }: FlagTool) {
  return defineTool({
    name,
    title,
    description,
    capability: 'write',
    effect: 'idempotent',
    tags: ['post', 'message'],
    input: { post_id: id() },
    output: record('post_id', 'ok'),
    async run({ post_id }, context) {
      await context.policy.requirePost(post_id, 'read');
      const { id: user_id } = await context.names.me();
      await change(context, { user_id, category: 'flagged_post', name: post_id, value: 'true' });
      return { ok: true, post_id };
    },
  });
}
