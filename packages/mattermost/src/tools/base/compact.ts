// Results in few words: what an agent reads, without what Mattermost keeps for itself. Empty fields are left out.

import { isObject } from '../../base/json.ts';
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

/** Beyond it there is no date. */
const LATEST_TIME = 8.64e15;

/** Without fields that say nothing. */
export function tidy(fields: Compact): Compact {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => {
      if (value === undefined || value === null || value === '' || value === false) return false;
      return !(Array.isArray(value) && value.length === 0);
    }),
  );
}

/** Milliseconds as people and models read them; 0 is Mattermost's "never". */
export function time(ms: number | null | undefined): string | undefined {
  const isTime = typeof ms === 'number' && ms > 0 && ms < LATEST_TIME;
  return isTime ? new Date(ms).toISOString() : undefined;
}

/** At most so long, and no half of a character that is two. */
export function cutText(text: string, length: number): string {
  const last = text.charCodeAt(length - 1);
  const isHalf = text.length > length && last >= 0xd800 && last < 0xdc00;
  return text.slice(0, isHalf ? length - 1 : length);
}

export function compactUser(user: UserRecord): Compact {
  const { id, username, nickname, email, position, roles } = user;
  const name = [user.first_name, user.last_name].filter(Boolean).join(' ');
  return tidy({
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
  return tidy({ id, name, display_name, description, type, archived: Boolean(delete_at) });
}

export function compactChannel(channel: ChannelRecord, label?: string): Compact {
  const { id, team_id, type, name, header, purpose, total_msg_count } = channel;
  const display_name = channel.display_name || label;
  const archived = Boolean(channel.delete_at);
  return tidy({
    id,
    team_id,
    type,
    name,
    display_name,
    purpose,
    header,
    last_post: time(channel.last_post_at),
    total_msg_count,
    archived,
  });
}

export function compactMember(member: MemberRecord, username: string | undefined): Compact {
  const { user_id, channel_id, team_id, roles } = member;
  return tidy({ user_id, username, channel_id, team_id, roles, left: Boolean(member.delete_at) });
}

export function compactFile(file: FileRecord): Compact {
  const { id, name, size, mime_type, width, height, channel_id, post_id } = file;
  return tidy({
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
  return tidy({ id, channel_id, display_name, type, link_url, image_url, emoji, file_id, sort_order, deleted });
}

export interface PostFacts {
  user?: string | undefined;
  channel?: string | undefined;
  /** One of many: longer texts are cut to this length, and people go by their names. */
  listedLength?: number | undefined;
  /** The list says which channel it is. */
  isChannelKnown: boolean;
}

export function compactPost(post: PostRecord, { user, channel, listedLength, isChannelKnown }: PostFacts): Compact {
  const { id, root_id, type } = post;
  const { message, attachments } = textsOf(post, listedLength);
  const user_id = listedLength !== undefined && user !== undefined ? undefined : post.user_id;
  const channel_id = isChannelKnown ? undefined : post.channel_id;
  const files = post.metadata?.files?.map((file) => {
    return tidy({ id: file.id, name: file.name, size: file.size, mime_type: file.mime_type });
  });
  return {
    ...tidy({ id, time: time(post.create_at), user, user_id, channel, channel_id, root_id }),
    message,
    ...tidy({
      characters_cut: textLength(post) - message.length - lengthOf(attachments) || undefined,
      type,
      edited: time(post.edit_at),
      deleted: Boolean(post.delete_at),
      pinned: post.is_pinned,
      reply_count: root_id ? undefined : post.reply_count || undefined,
      files: files ?? post.file_ids?.map((fileId) => ({ id: fileId })),
      reactions: countReactions(post),
      attachments,
    }),
  };
}

/** Of the message and its attachments together, as they are told. */
export function textLength({ message, props }: PostRecord): number {
  return (message?.length ?? 0) + lengthOf(props?.attachments);
}

function lengthOf(attachments: unknown): number {
  return attachments === undefined ? 0 : JSON.stringify(attachments).length;
}

/** Cut to a length together, attachments to what the message leaves of it. */
function textsOf(post: PostRecord, length = Number.POSITIVE_INFINITY): { message: string; attachments: unknown } {
  const message = cutText(post.message ?? '', length);
  const left = length - message.length;
  const attachments = post.props?.attachments;
  return { message, attachments: lengthOf(attachments) <= left ? attachments : cutJson(attachments, { left }) };
}

/** The beginning of some JSON: its texts are cut, and what has no room any more is left out. */
function cutJson(value: unknown, room: { left: number }): unknown {
  room.left -= 2; // quotes, brackets or the like
  if (Array.isArray(value)) return value.flatMap((item) => (room.left > 0 ? [cutJson(item, room)] : []));
  if (isObject(value)) {
    const fields = Object.entries(value).flatMap(([name, item]) => {
      room.left -= name.length;
      return room.left > 0 ? [[name, cutJson(item, room)]] : [];
    });
    return Object.fromEntries(fields);
  }
  const shown = typeof value === 'string' ? cutText(value, Math.max(0, room.left)) : value;
  room.left -= String(shown).length;
  return shown;
}

export function compactThread(
  thread: ThreadRecord,
  root: Compact | undefined,
  participants: readonly string[],
): Compact {
  const { id, reply_count, unread_replies, unread_mentions } = thread;
  return tidy({
    id,
    reply_count,
    unread_replies,
    unread_mentions,
    last_reply: time(thread.last_reply_at),
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
