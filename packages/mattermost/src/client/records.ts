// The fields of Mattermost records that this package reads. Depending on version and settings a field may be missing or null.

type Maybe<Value> = Value | null | undefined;

export interface UserRecord {
  id: string;
  username?: Maybe<string>;
  first_name?: Maybe<string>;
  last_name?: Maybe<string>;
  nickname?: Maybe<string>;
  email?: Maybe<string>;
  position?: Maybe<string>;
  roles?: Maybe<string>;
  is_bot?: Maybe<boolean>;
  delete_at?: Maybe<number>;
  /** The custom status is JSON text under `customStatus`. */
  props?: Maybe<Record<string, unknown>>;
}

export interface TeamRecord {
  id: string;
  name?: Maybe<string>;
  display_name?: Maybe<string>;
  description?: Maybe<string>;
  type?: Maybe<string>;
  delete_at?: Maybe<number>;
}

export interface ChannelRecord {
  id: string;
  team_id?: Maybe<string>;
  type?: Maybe<string>;
  name?: Maybe<string>;
  display_name?: Maybe<string>;
  header?: Maybe<string>;
  purpose?: Maybe<string>;
  last_post_at?: Maybe<number>;
  total_msg_count?: Maybe<number>;
  total_msg_count_root?: Maybe<number>;
  delete_at?: Maybe<number>;
}

export interface MemberRecord {
  channel_id?: Maybe<string>;
  team_id?: Maybe<string>;
  user_id: string;
  roles?: Maybe<string>;
  last_viewed_at?: Maybe<number>;
  msg_count?: Maybe<number>;
  mention_count?: Maybe<number>;
  msg_count_root?: Maybe<number>;
  mention_count_root?: Maybe<number>;
  notify_props?: Maybe<Record<string, string>>;
  delete_at?: Maybe<number>;
}

export interface FileRecord {
  id: string;
  user_id?: Maybe<string>;
  name?: Maybe<string>;
  size?: Maybe<number>;
  mime_type?: Maybe<string>;
  extension?: Maybe<string>;
  channel_id?: Maybe<string>;
  post_id?: Maybe<string>;
  width?: Maybe<number>;
  height?: Maybe<number>;
  create_at?: Maybe<number>;
}

export interface FileListRecord {
  order?: Maybe<string[]>;
  file_infos?: Maybe<Record<string, FileRecord>>;
}

export interface ReactionRecord {
  user_id: string;
  post_id: string;
  emoji_name: string;
  create_at?: Maybe<number>;
}

export interface PostRecord {
  id: string;
  create_at?: Maybe<number>;
  update_at?: Maybe<number>;
  edit_at?: Maybe<number>;
  delete_at?: Maybe<number>;
  is_pinned?: Maybe<boolean>;
  user_id?: Maybe<string>;
  channel_id?: Maybe<string>;
  root_id?: Maybe<string>;
  message?: Maybe<string>;
  type?: Maybe<string>;
  props?: Maybe<Record<string, unknown>>;
  file_ids?: Maybe<string[]>;
  reply_count?: Maybe<number>;
  last_reply_at?: Maybe<number>;
  metadata?: Maybe<{
    files?: Maybe<FileRecord[]>;
    reactions?: Maybe<ReactionRecord[]>;
    embeds?: Maybe<EmbedRecord[]>;
    priority?: Maybe<PriorityRecord>;
    acknowledgements?: Maybe<{ user_id: string; acknowledged_at?: Maybe<number> }[]>;
  }>;
}

interface PriorityRecord {
  /** `important`, `urgent`, or empty. */
  priority?: Maybe<string>;
  requested_ack?: Maybe<boolean>;
}

/** The preview of a link in a message. A permalink embeds the linked message. */
interface EmbedRecord {
  type?: Maybe<string>;
  data?: Maybe<{ post?: Maybe<PostRecord> }>;
}

export interface PostListRecord {
  order?: Maybe<string[]>;
  posts?: Maybe<Record<string, PostRecord>>;
  next_post_id?: Maybe<string>;
  prev_post_id?: Maybe<string>;
  has_next?: Maybe<boolean>;
}

export interface ThreadRecord {
  id: string;
  reply_count?: Maybe<number>;
  last_reply_at?: Maybe<number>;
  last_viewed_at?: Maybe<number>;
  unread_replies?: Maybe<number>;
  unread_mentions?: Maybe<number>;
  participants?: Maybe<{ id: string }[]>;
  post?: Maybe<PostRecord>;
}

export interface ThreadListRecord {
  total?: Maybe<number>;
  total_unread_threads?: Maybe<number>;
  total_unread_mentions?: Maybe<number>;
  threads?: Maybe<ThreadRecord[]>;
}

export interface BookmarkRecord {
  id: string;
  channel_id?: Maybe<string>;
  owner_id?: Maybe<string>;
  display_name?: Maybe<string>;
  type?: Maybe<string>;
  link_url?: Maybe<string>;
  image_url?: Maybe<string>;
  emoji?: Maybe<string>;
  file_id?: Maybe<string>;
  sort_order?: Maybe<number>;
  delete_at?: Maybe<number>;
}

/** A message that Mattermost will post later. */
export interface ScheduledPostRecord {
  id: string;
  user_id?: Maybe<string>;
  channel_id?: Maybe<string>;
  root_id?: Maybe<string>;
  message?: Maybe<string>;
  props?: Maybe<Record<string, unknown>>;
  file_ids?: Maybe<string[]>;
  priority?: Maybe<Record<string, unknown>>;
  type?: Maybe<string>;
  scheduled_at?: Maybe<number>;
  /** Empty, or `weekly`, with the time zone of `scheduled_at` (Mattermost of 2026). */
  repeat_type?: Maybe<string>;
  repeat_timezone?: Maybe<string>;
  /** Why it could not be posted. */
  error_code?: Maybe<string>;
}

export interface GroupRecord {
  id: string;
  /** The name that mentions use; groups without mentions have none. */
  name?: Maybe<string>;
  display_name?: Maybe<string>;
  description?: Maybe<string>;
  source?: Maybe<string>;
  member_count?: Maybe<number>;
  delete_at?: Maybe<number>;
}

export interface EmojiRecord {
  id: string;
  name?: Maybe<string>;
  creator_id?: Maybe<string>;
  create_at?: Maybe<number>;
}

export interface CategoryRecord {
  id: string;
  user_id?: Maybe<string>;
  team_id?: Maybe<string>;
  display_name?: Maybe<string>;
  type?: Maybe<string>;
  sorting?: Maybe<string>;
  muted?: Maybe<boolean>;
  collapsed?: Maybe<boolean>;
  channel_ids?: Maybe<string[]>;
}

export interface CommandRecord {
  trigger?: Maybe<string>;
  display_name?: Maybe<string>;
  auto_complete_hint?: Maybe<string>;
  auto_complete_desc?: Maybe<string>;
}

export interface StatusRecord {
  user_id: string;
  status?: Maybe<string>;
  manual?: Maybe<boolean>;
  last_activity_at?: Maybe<number>;
  /** In seconds, unlike other times. */
  dnd_end_time?: Maybe<number>;
}
