// The MCP resource mattermost://channel/{id}: the latest messages of a channel.
import type { ReadResourceResult } from '@modelcontextprotocol/server';
import type { ToolContext } from '../account/account.ts';
import { MattermostError } from '../base/errors.ts';
import { readChannelMessages } from '../tools/base/channel-messages.ts';
import { presentPosts } from '../tools/base/present.ts';

export const URI_TEMPLATE = 'mattermost://channel/{channel_id}';
const URI = /^mattermost:\/\/channel\/([A-Za-z0-9]{26})$/;
const MAX_MESSAGES = 30;

export function requireChannelId(uri: string): string {
  const id = URI.exec(uri)?.[1];
  if (id !== undefined) return id;
  const text = `"${uri.slice(0, 100)}" is not a resource of this server: use ${URI_TEMPLATE} with an id of 26 characters.`;
  throw new MattermostError('ARGUMENTS_INVALID', text);
}

export async function readChannelResource(uri: string, context: ToolContext): Promise<ReadResourceResult> {
  const channelId = requireChannelId(uri);
  await context.policy.requireChannel(channelId, 'read');
  const channel = await context.names.channel(channelId);
  const { posts, isTruncated } = await readChannelMessages(context, {
    channel_id: channelId,
    unread_only: false,
    per_page: MAX_MESSAGES,
    collapsed_threads: false,
  });
  const messages = await presentPosts(context, posts, { full: false });
  const content = {
    channel_id: channelId,
    channel: await context.names.label(channel),
    messages,
    truncated: isTruncated,
  };
  return { contents: [{ uri, mimeType: 'application/json', text: JSON.stringify(content) }] };
}
