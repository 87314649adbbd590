// Compact forms of Mattermost records: only the fields an agent needs, without empty ones.

import { isRecord } from '@pocket-agent/kit';
import type {
  BookmarkRecord,
  ChannelRecord,
  FileRecord,
  MemberRecord,
  PostRecord,
  TeamRecord,
  ThreadRecord,
  UserRecord,
} from '../../client/records.ts';

export type Compact = Record<string, unknown>;

/** The largest timestamp a Date can hold. */
const MAX_DATE_MS = 8.64e15;

/** Drops fields that are undefined, null, false or empty. */
export function omitEmpty(fields: Compact): Compact {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => {
      if (value === undefined || value === null || value === '' || value === false) return false;
      return !(Array.isArray(value) && value.length === 0);
    }),
  );
}

/** A timestamp as ISO 8601; Mattermost uses 0 for "never". */
export function isoTime(ms: number | null | undefined): string | undefined {
  const isTime = typeof ms === 'number' && ms > 0 && ms < MAX_DATE_MS;
  return isTime ? new Date(ms).toISOString() : undefined;
}

/** Cuts a string without splitting a surrogate pair. */
export function truncateText(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const splitsPair = text.length > length && last >= 0xd800 && last < 0xdc00;
  return text.slice(0, splitsPair ? length - 1 : length);
}

export function compactUser(user: UserRecord): Compact {
  const { id, username, nickname, email, position, roles } = user;
  const name = [user.first_name, user.last_name].filter(Boolean).join(' ');
  return omitEmpty({
    id,
    username,
    name,
    nickname,
    email,
    position,
    roles,
    bot: user.is_bot,
    deleted: Boolean(user.delete_at),
  });
}

export function compactTeam({ id, name, display_name, description, type, delete_at }: TeamRecord): Compact {
  return omitEmpty({ id, name, display_name, description, type, archived: Boolean(delete_at) });
}

export function compactChannel(channel: ChannelRecord, label?: string): Compact {
  const { id, team_id, type, name, header, purpose, total_msg_count } = channel;
  const display_name = channel.display_name || label;
  const archived = Boolean(channel.delete_at);
  return omitEmpty({
    id,
    team_id,
    type,
    name,
    display_name,
    purpose,
    header,
    last_post: isoTime(channel.last_post_at),
    total_msg_count,
    archived,
  });
}

export function compactMember(member: MemberRecord, username: string | undefined): Compact {
  const { user_id, channel_id, team_id, roles } = member;
  return omitEmpty({ user_id, username, channel_id, team_id, roles, left: Boolean(member.delete_at) });
}

export function compactFile(file: FileRecord): Compact {
  const { id, name, size, mime_type, width, height, channel_id, post_id } = file;
  return omitEmpty({
    id,
    name,
    size,
    mime_type,
    width: width || undefined,
    height: height || undefined,
    channel_id,
    post_id,
  });
}

export function compactBookmark(bookmark: BookmarkRecord): Compact {
  const { id, channel_id, display_name, type, link_url, image_url, emoji, file_id, sort_order } = bookmark;
  const deleted = Boolean(bookmark.delete_at);
  return omitEmpty({ id, channel_id, display_name, type, link_url, image_url, emoji, file_id, sort_order, deleted });
}

interface PostFacts {
  user?: string | undefined;
  channel?: string | undefined;
  acknowledgedBy?: readonly string[];
  /** For posts in a list: longer texts are cut to this length, and user ids are replaced by names. */
  listedLength?: number | undefined;
  /** Leaves out `channel_id`, because the list names the channel. */
  isChannelKnown: boolean;
}

export function compactPost(post: PostRecord, facts: PostFacts): Compact {
  const { user, channel, acknowledgedBy, listedLength, isChannelKnown } = facts;
  const { id, root_id, type } = post;
  const { message, attachments } = truncatedTexts(post, listedLength);
  const user_id = listedLength !== undefined && user !== undefined ? undefined : post.user_id;
  const channel_id = isChannelKnown ? undefined : post.channel_id;
  const files = post.metadata?.files?.map((file) => {
    return omitEmpty({ id: file.id, name: file.name, size: file.size, mime_type: file.mime_type });
  });
  return {
    ...omitEmpty({ id, time: isoTime(post.create_at), user, user_id, channel, channel_id, root_id }),
    message,
    ...omitEmpty({
      characters_cut: textLength(post) - message.length - jsonLength(attachments) || undefined,
      type,
      edited: isoTime(post.edit_at),
      deleted: Boolean(post.delete_at),
      pinned: post.is_pinned,
      reply_count: root_id ? undefined : post.reply_count || undefined,
      files: files ?? post.file_ids?.map((fileId) => ({ id: fileId })),
      reactions: countReactions(post),
      priority: post.metadata?.priority?.priority,
      request_ack: post.metadata?.priority?.requested_ack,
      acknowledged_by: acknowledgedBy,
      attachments,
    }),
  };
}

/** Length of the message and its attachments as JSON. */
export function textLength({ message, props }: PostRecord): number {
  return (message?.length ?? 0) + jsonLength(props?.attachments);
}

function jsonLength(attachments: unknown): number {
  return attachments === undefined ? 0 : JSON.stringify(attachments).length;
}

/** Cuts the message to `length`, and attachments to what remains of it. */
function truncatedTexts(
  post: PostRecord,
  length = Number.POSITIVE_INFINITY,
): { message: string; attachments: unknown } {
  const message = truncateText(post.message ?? '', length);
  const remaining = length - message.length;
  const attachments = post.props?.attachments;
  return {
    message,
    attachments: jsonLength(attachments) <= remaining ? attachments : truncateJson(attachments, { remaining }),
  };
}

/** Cuts strings and drops fields until the JSON fits into the budget. */
function truncateJson(value: unknown, budget: { remaining: number }): unknown {
  budget.remaining -= 2; // quotes or brackets
  if (Array.isArray(value)) return value.flatMap((item) => (budget.remaining > 0 ? [truncateJson(item, budget)] : []));
  if (isRecord(value)) {
    const fields = Object.entries(value).flatMap(([name, item]) => {
      budget.remaining -= name.length;
      return budget.remaining > 0 ? [[name, truncateJson(item, budget)]] : [];
    });
    return Object.fromEntries(fields);
  }
  const shown = typeof value === 'string' ? truncateText(value, Math.max(0, budget.remaining)) : value;
  budget.remaining -= String(shown).length;
  return shown;
}

export function compactThread(
  thread: ThreadRecord,
  root: Compact | undefined,
  participants: readonly string[],
): Compact {
  const { id, reply_count, unread_replies, unread_mentions } = thread;
  return omitEmpty({
    id,
    reply_count,
    unread_replies,
    unread_mentions,
    last_reply: isoTime(thread.last_reply_at),
    participants,
    root,
  });
}

function countReactions({ metadata }: PostRecord): Record<string, number> | undefined {
  const reactions = metadata?.reactions ?? [];
  if (reactions.length === 0) return undefined;
  const counts = new Map<string, number>();
  for (const { emoji_name } of reactions) counts.set(emoji_name, (counts.get(emoji_name) ?? 0) + 1);
  return Object.fromEntries(counts);
}
