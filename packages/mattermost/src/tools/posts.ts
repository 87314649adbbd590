// Tools for single posts: read, reactions, pins.

import type { ToolContext } from '../account/account.ts';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord, ReactionRecord } from '../client/records.ts';
import { changePost } from './base/change-post.ts';
import { isoTime, omitEmpty } from './base/compact.ts';
import { orderedPosts, presentPost, presentPosts } from './base/present.ts';
import { emojiName, full, id, listOf, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { post } from './messages.ts';

const reaction = record('emoji_name', 'user', 'user_id', 'post_id', 'time');

export const postTools = [
  defineTool({
    name: 'get_post',
    title: 'Get message',
    description: 'Get a message by id, with its full text.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'message'],
    input: { post_id: id(), full: full() },
    output: post,
    async run({ post_id, full }, context) {
      await context.policy.requirePost(post_id, 'read');
      return presentPost(context, await context.api.get<PostRecord>(path`/posts/${post_id}`), full);
    },
  }),
  defineTool({
    name: 'add_reaction',
    title: 'Add reaction',
    description: 'Add an emoji reaction to a message.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['post'],
    input: { post_id: id(), emoji_name: emojiName(), full: full() },
    output: reaction,
    async run({ post_id, emoji_name, full }, context) {
      const { id: user_id } = await context.names.me();
      const body = { user_id, post_id, emoji_name: withoutColons(emoji_name) };
      const created = await changePost(context, post_id, ({ api }) =>
        explainUnknownEmoji(api.post<ReactionRecord>('/reactions', body)),
      );
      const [added = {}] = await presentReactions(context, [created], full);
      return added;
    },
  }),
  defineTool({
    name: 'remove_reaction',
    title: 'Remove reaction',
    description: 'Remove a reaction of this account.',
    capability: 'write',
    effect: 'idempotent',
    tags: ['post'],
    input: { post_id: id(), emoji_name: emojiName() },
    output: record('post_id', 'ok'),
    async run({ post_id, emoji_name }, context) {
      const name = withoutColons(emoji_name);
      await changePost(context, post_id, ({ api }) => api.delete(path`/users/me/posts/${post_id}/reactions/${name}`));
      return { ok: true, post_id };
    },
  }),
  defineTool({
    name: 'get_reactions',
    title: 'List reactions',
    description: 'List who reacted to a message, and with which emoji.',
    capability: 'read',
    effect: 'read',
    tags: ['post'],
    input: { post_id: id(), full: full() },
    output: listOf('reactions', reaction),
    async run({ post_id, full }, context) {
      await context.policy.requirePost(post_id, 'read');
      const reactions = await context.api.list<ReactionRecord>(path`/posts/${post_id}/reactions`);
      return { reactions: await presentReactions(context, reactions, full) };
    },
  }),
  definePin('pin_message', { title: 'Pin message', description: 'Pin a message to its channel.', endpoint: 'pin' }),
  definePin('unpin_message', { title: 'Unpin message', description: 'Unpin a message.', endpoint: 'unpin' }),
  defineTool({
    name: 'list_pinned_messages',
    title: 'List pinned messages',
    description: 'List all pinned messages of a channel, newest first.',
    capability: 'read',
    effect: 'read',
    tags: ['post', 'channel'],
    input: { channel_id: id(), full: full() },
    output: listOf('messages', record('id', 'time', 'user', 'message')),
    async run({ channel_id, full }, context) {
      await context.policy.requireChannel(channel_id, 'read');
      const list = await context.api.get<PostListRecord>(path`/channels/${channel_id}/pinned`);
      return { messages: await presentPosts(context, orderedPosts(list), { full }) };
    },
  }),
];

function definePin(
  name: string,
  { title, description, endpoint }: { title: string; description: string; endpoint: string },
) {
  return defineTool({
    name,
    title,
    description,
    capability: 'write',
    effect: 'idempotent',
    tags: ['post'],
    input: { post_id: id(), full: full() },
    output: post,
    async run({ post_id, full }, context) {
      await changePost(context, post_id, ({ api }) => api.post(path`/posts/${post_id}/${endpoint}`));
      return presentPost(context, await context.api.get<PostRecord>(path`/posts/${post_id}`), full);
    },
  });
}

/** From version 9.3 Mattermost rejects unknown emoji with a message about ids or settings. */
async function explainUnknownEmoji<Value>(adding: Promise<Value>): Promise<Value> {
  try {
    return await adding;
  } catch (error) {
    if (!isMattermostError(error) || !error.errorId?.includes('.emoji.')) throw error;
    const text =
      'This server has no emoji with that name. Use a standard name such as thumbsup, eyes or white_check_mark.';
    throw new MattermostError('ARGUMENTS_INVALID', text, { cause: error });
  }
}

async function presentReactions(
  { names }: ToolContext,
  reactions: readonly ReactionRecord[],
  full: boolean,
): Promise<object[]> {
  const users = await names.users(reactions.map(({ user_id }) => user_id));
  return reactions.map((one) => {
    const user = users.get(one.user_id);
    if (full) return { ...one, ...omitEmpty({ user }) };
    return omitEmpty({
      emoji_name: one.emoji_name,
      user,
      user_id: one.user_id,
      post_id: one.post_id,
      time: isoTime(one.create_at),
    });
  });
}

function withoutColons(name: string): string {
  return name.replaceAll(':', '');
}
