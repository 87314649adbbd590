// The tool get_unread_inbox: unread channels with their messages, mentions and threads in one call.

import { errorText } from '@pocket-agent/kit';
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import { isMattermostError } from '../base/errors.ts';
import { path } from '../client/path.ts';
import type { PostListRecord, PostRecord } from '../client/records.ts';
import { type Compact, isoTime, omitEmpty } from './base/compact.ts';
import { type MyChannel, readMyChannels, readMyTeams, unreadCounts } from './base/my-channels.ts';
import { MAX_LIST_CHARACTERS, MAX_LISTED_POSTS, orderedPosts, presentPosts } from './base/present.ts';
import { full, id, record } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { presentThreads, readThreads } from './threads.ts';

const list = (items: object) => ({ type: 'array', items });

export const inboxTools = [
  defineTool({
    name: 'get_unread_inbox',
    title: 'Unread inbox',
    description:
      'Get everything unread in one call: channels (mentions first) with their first unread messages, and followed threads. Covers all teams, or only team_id. Muted channels appear only with mentions. Marks nothing as read.',
    capability: 'read',
    effect: 'read',
    tags: ['message', 'channel', 'post'],
    input: {
      team_id: id().optional(),
      max_channels: z.int().min(1).max(50).default(20),
      messages_per_channel: z.int().min(0).max(50).default(5),
      collapsed_threads: z.boolean().default(false).describe('Ignore unread replies in threads'),
      full: full(),
    },
    output: {
      type: 'object',
      properties: {
        channels: list(record('id', 'name', 'type', 'unread', 'mentions', 'last_viewed', 'messages', 'truncated')),
        threads: list(record('id', 'root', 'unread_replies', 'unread_mentions', 'participants')),
        total_unread_channels: { type: 'integer' },
        total_mentions: { type: 'integer' },
        truncated: { type: 'boolean' },
        failures: list({ type: 'object' }),
      },
      required: ['channels', 'threads', 'truncated'],
    },
    async run({ team_id, max_channels, messages_per_channel, collapsed_threads, full }, context) {
      const failures: Failure[] = [];
      const teams = team_id ? [team_id] : (await readMyTeams(context)).map((team) => team.id);
      const unread = await readUnreadChannels(context, { teams, collapsed_threads, failures });
      const shownChannels = unread.slice(0, max_channels);
      const share = (total: number) => Math.floor(total / Math.max(1, shownChannels.length));
      const count = Math.min(messages_per_channel, share(MAX_LISTED_POSTS));
      const characters = share(MAX_LIST_CHARACTERS);
      const channels = await Promise.all(
        shownChannels.map((one) =>
          presentUnread(context, one, { count, collapsed_threads, full, characters, failures }),
        ),
      );
      const threads = await readUnreadThreads(context, { teams, full, failures });
      return {
        channels,
        threads: threads.items,
        total_unread_channels: unread.length,
        total_mentions: unread.reduce((sum, { mentions }) => sum + mentions, 0),
        truncated: unread.length > shownChannels.length || threads.isTruncated,
        ...(failures.length > 0 ? { failures } : {}),
      };
    },
  }),
];

export interface Failure {
  what: string;
  error: string;
}

interface UnreadChannel extends MyChannel {
  messages: number;
  mentions: number;
}

const THREADS_PER_TEAM = 25;

interface ChannelsRequest {
  teams: readonly string[];
  collapsed_threads: boolean;
  failures: Failure[];
}

async function readUnreadChannels(
  context: ToolContext,
  { teams, collapsed_threads, failures }: ChannelsRequest,
): Promise<UnreadChannel[]> {
  const found = new Map<string, UnreadChannel>();
  const lists = await Promise.all(
    teams.map((team) => orRecordFailure(failures, `team ${team}`, () => readMyChannels(context, team))),
  );
  // direct channels appear in every team
  for (const one of lists.flatMap((channels) => channels ?? [])) {
    const counts = unreadCounts(one, collapsed_threads);
    const mentions = collapsed_threads ? counts.mention_count_root : counts.mention_count;
    const messages = collapsed_threads ? counts.unread_msg_count_root : counts.unread_msg_count;
    const isMuted = one.member?.notify_props?.mark_unread === 'mention';
    if (isMuted ? mentions > 0 : counts.isUnread) found.set(one.channel.id, { ...one, messages, mentions });
  }
  const lastPost = ({ channel }: UnreadChannel) => channel.last_post_at ?? 0;
  return [...found.values()].sort((left, right) => right.mentions - left.mentions || lastPost(right) - lastPost(left));
}

interface PresentRequest {
  count: number;
  collapsed_threads: boolean;
  full: boolean;
  characters: number;
  failures: Failure[];
}

async function presentUnread(
  context: ToolContext,
  { channel, member, messages: unread, mentions }: UnreadChannel,
  { count, collapsed_threads, full, characters, failures }: PresentRequest,
): Promise<Compact> {
  const name = await context.names.label(channel);
  const head = {
    ...omitEmpty({ id: channel.id, name, type: channel.type, team_id: channel.team_id }),
    unread,
    mentions,
    ...omitEmpty({ last_viewed: isoTime(member?.last_viewed_at) }),
  };
  if (count === 0) return head;
  const posts = await orRecordFailure(failures, `channel ${channel.id}`, () =>
    readFirstUnread(context, channel.id, { count, collapsed_threads }),
  );
  if (!posts) return head;
  const messages = await presentPosts(context, posts, { full, characters });
  return { ...head, messages, ...omitEmpty({ truncated: unread > messages.length }) };
}

/** Oldest first. For a channel that was never opened Mattermost returns nothing, so the newest messages are used. */
async function readFirstUnread(
  { api }: ToolContext,
  channelId: string,
  { count, collapsed_threads }: { count: number; collapsed_threads: boolean },
): Promise<PostRecord[]> {
  const query = { limit_before: 0, limit_after: count, collapsedThreads: collapsed_threads || undefined };
  const unread = orderedPosts(await api.get<PostListRecord>(path`/users/me/channels/${channelId}/posts/unread`, query));
  if (unread.length > 0) return unread.reverse();
  return orderedPosts(await api.get<PostListRecord>(path`/channels/${channelId}/posts`, { per_page: count })).reverse();
}

async function readUnreadThreads(
  context: ToolContext,
  { teams, full, failures }: { teams: readonly string[]; full: boolean; failures: Failure[] },
): Promise<{ items: Compact[]; isTruncated: boolean }> {
  const request = { unread: true, per_page: THREADS_PER_TEAM };
  const found = await Promise.all(
    teams.map((team) =>
      orRecordFailure(failures, `threads of team ${team}`, () => readThreads(context, team, request)),
    ),
  );
  // threads in direct channels appear in every team
  const threads = [...new Map(found.flatMap((one) => one?.threads ?? []).map((one) => [one.id, one])).values()];
  const items = await presentThreads(context, threads.slice(0, MAX_LISTED_POSTS), full);
  const isIncomplete = found.some((one) => one?.isTruncated || one?.hitScanLimit);
  return { items, isTruncated: isIncomplete || threads.length > MAX_LISTED_POSTS };
}

/** Records a failed part so that the others are still returned. A rejected token fails the whole call. */
export async function orRecordFailure<Value>(
  failures: Failure[],
  what: string,
  read: () => Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await read();
  } catch (error) {
    if (!isMattermostError(error) || error.code === 'AUTHENTICATION_FAILED' || error.code === 'ABORTED') throw error;
    failures.push({ what, error: errorText(error) });
    return undefined;
  }
}
