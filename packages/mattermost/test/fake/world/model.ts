// The records the fake stores, with the field names of the API.

export interface Team {
  id: string;
  create_at: number;
  update_at: number;
  delete_at: number;
  display_name: string;
  name: string;
  description: string;
  email: string;
  type: 'O' | 'I';
  company_name: string;
  allowed_domains: string;
  invite_id: string;
  allow_open_invite: boolean;
}

export interface User {
  id: string;
  create_at: number;
  update_at: number;
  delete_at: number;
  username: string;
  first_name: string;
  last_name: string;
  nickname: string;
  position: string;
  email: string;
  email_verified: boolean;
  auth_service: string;
  roles: string;
  locale: string;
  is_bot?: boolean;
  /** The custom status is JSON text under `customStatus`. */
  props?: Record<string, string>;
}

export type UserStatus = 'online' | 'away' | 'offline' | 'dnd';

export interface TeamMember {
  team_id: string;
  user_id: string;
  roles: string;
  delete_at: number;
  scheme_user: boolean;
  scheme_admin: boolean;
}

export type ChannelType = 'O' | 'P' | 'D' | 'G';

export interface Channel {
  id: string;
  create_at: number;
  update_at: number;
  delete_at: number;
  team_id: string;
  type: ChannelType;
  display_name: string;
  name: string;
  header: string;
  purpose: string;
  last_post_at: number;
  last_root_post_at: number;
  total_msg_count: number;
  total_msg_count_root: number;
  creator_id: string;
}

export interface ChannelMember {
  channel_id: string;
  user_id: string;
  roles: string;
  last_viewed_at: number;
  msg_count: number;
  mention_count: number;
  msg_count_root: number;
  mention_count_root: number;
  notify_props: Record<string, string>;
  last_update_at: number;
  scheme_user: boolean;
  scheme_admin: boolean;
}

export interface Post {
  id: string;
  create_at: number;
  update_at: number;
  edit_at: number;
  delete_at: number;
  is_pinned: boolean;
  user_id: string;
  channel_id: string;
  root_id: string;
  original_id: string;
  message: string;
  type: string;
  props: Record<string, unknown>;
  hashtags: string;
  file_ids: string[];
}

export interface Reaction {
  user_id: string;
  post_id: string;
  emoji_name: string;
  create_at: number;
}

export interface FileInfo {
  id: string;
  user_id: string;
  post_id: string;
  channel_id: string;
  create_at: number;
  update_at: number;
  delete_at: number;
  name: string;
  extension: string;
  size: number;
  mime_type: string;
  width: number;
  height: number;
  has_preview_image: boolean;
}

export interface Bookmark {
  id: string;
  create_at: number;
  update_at: number;
  delete_at: number;
  channel_id: string;
  owner_id: string;
  file_id: string;
  display_name: string;
  sort_order: number;
  link_url?: string;
  image_url?: string;
  emoji?: string;
  type: 'link' | 'file';
}

export interface Preference {
  user_id: string;
  category: string;
  name: string;
  value: string;
}

/** Membership of a user in a thread. */
export interface ThreadMembership {
  following: boolean;
  last_viewed_at: number;
  unread_mentions: number;
}

export interface Priority {
  /** `important`, `urgent`, or empty. */
  priority: string;
  requested_ack: boolean;
}

export interface Acknowledgement {
  post_id: string;
  user_id: string;
  acknowledged_at: number;
}

export interface Reminder {
  post_id: string;
  user_id: string;
  /** In seconds. */
  target_time: number;
}

export interface ScheduledPost {
  id: string;
  create_at: number;
  update_at: number;
  user_id: string;
  channel_id: string;
  root_id: string;
  message: string;
  props: Record<string, unknown>;
  file_ids: string[];
  scheduled_at: number;
  /** Empty, or `weekly` (recent versions). */
  repeat_type: string;
  repeat_timezone: string;
  processed_at: number;
  error_code: string;
}

export interface Group {
  id: string;
  name: string;
  display_name: string;
  description: string;
  source: 'custom' | 'ldap';
  members: string[];
  create_at: number;
  update_at: number;
  delete_at: number;
}

export interface Emoji {
  id: string;
  creator_id: string;
  name: string;
  create_at: number;
  update_at: number;
  delete_at: number;
}

export interface Category {
  id: string;
  user_id: string;
  team_id: string;
  sort_order: number;
  sorting: string;
  type: 'favorites' | 'channels' | 'direct_messages' | 'custom';
  display_name: string;
  muted: boolean;
  collapsed: boolean;
  channel_ids: string[];
}
