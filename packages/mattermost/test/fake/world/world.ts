// The state of the fake server and its permission checks.
import { createHash } from 'node:crypto';
import { forbidden, notFound } from './api-error.ts';
import type {
  Acknowledgement,
  Bookmark,
  Category,
  Channel,
  ChannelMember,
  Emoji,
  FileInfo,
  Group,
  Post,
  Preference,
  Priority,
  Reaction,
  Reminder,
  ScheduledPost,
  Team,
  TeamMember,
  ThreadMembership,
  User,
  UserStatus,
} from './model.ts';

export interface WorldOptions {
  version: string;
  publicLinks: boolean;
  licensed: boolean;
  collapsedThreads: boolean;
  /** A database search returns one page of at most 100 posts; a search engine has pages. */
  searchEngine: 'database' | 'elasticsearch';
  maxFileSize: number;
  /** Features that an administrator turned off. */
  disabled: readonly Feature[];
}

export type Feature = 'custom_status' | 'emoji' | 'priority' | 'scheduled_posts';

/** Recipients of an event, as on the wire. */
export interface Broadcast {
  omit_users: Record<string, true> | null;
  user_id: string;
  channel_id: string;
  team_id: string;
}

export type Publish = (event: string, data: Record<string, unknown>, to: Partial<Broadcast>) => void;

export class World {
  readonly options: WorldOptions;
  readonly teams = new Map<string, Team>();
  readonly users = new Map<string, User>();
  readonly statuses = new Map<string, UserStatus>();
  /** User ids by session or personal access token. */
  readonly tokens = new Map<string, string>();
  readonly teamMembers: TeamMember[] = [];
  readonly channels = new Map<string, Channel>();
  /** By channel, then by user. */
  readonly members = new Map<string, Map<string, ChannelMember>>();
  readonly posts = new Map<string, Post>();
  /** By channel, oldest first. */
  readonly timeline = new Map<string, Post[]>();
  /** Replies by the id of their root, oldest first. */
  readonly replies = new Map<string, Post[]>();
  readonly threadMemberships = new Map<string, ThreadMembership>();
  readonly reactions: Reaction[] = [];
  readonly files = new Map<string, { info: FileInfo; content: Buffer }>();
  readonly bookmarks = new Map<string, Bookmark>();
  readonly preferences: Preference[] = [];
  /** By post. */
  readonly priorities = new Map<string, Priority>();
  readonly acknowledgements: Acknowledgement[] = [];
  readonly reminders: Reminder[] = [];
  readonly scheduledPosts = new Map<string, ScheduledPost>();
  readonly groups = new Map<string, Group>();
  readonly emoji = new Map<string, Emoji>();
  /** Custom sidebar categories, and default ones once they were changed. */
  readonly categories: Category[] = [];
  /** Custom slash commands by trigger. */
  readonly customCommands = new Map<string, { url: string; token: string }>();
  /** By user, in seconds. */
  readonly dndEnds = new Map<string, number>();
  readonly pendingPosts = new Map<string, { postId: string; until: number }>();
  /** By channel: the latest change in the last response to `since`, cached until the channel changes. */
  readonly lastPostTimes = new Map<string, number>();
  /** Set by the WebSocket; no events are sent while the world is seeded. */
  publish: Publish = () => {};
  #ids = 0;
  #clock = 0;
  #past = false;
  #isStill = false;

  constructor(options: WorldOptions) {
    this.options = options;
  }

  /** The current time, different in every call, so that times define an order. */
  now(): number {
    if (this.#isStill) return this.#clock;
    this.#clock = this.#past ? this.#clock + 1 : Math.max(Date.now(), this.#clock + 1);
    return this.#clock;
  }

  /** Runs `build` with a clock that starts `span` milliseconds ago and advances one millisecond per call. */
  inThePast<Made>(span: number, build: () => Made): Made {
    this.#clock = Date.now() - span;
    this.#past = true;
    const made = build();
    this.#past = false;
    return made;
  }

  /** Runs `build` with a stopped clock. */
  atOnce<Made>(build: () => Made): Made {
    this.now();
    this.#isStill = true;
    const made = build();
    this.#isStill = false;
    return made;
  }

  /** Simulates a restart: forgets pending posts and caches. */
  restart(): void {
    this.pendingPosts.clear();
    this.lastPostTimes.clear();
  }

  newId(): string {
    const digest = createHash('sha256')
      .update(`fake mattermost ${this.#ids++}`)
      .digest();
    let id = '';
    for (let index = 0; index < 26; index++) id += 'ybndrfg8ejkmcpqxot1uwisza345h769'[(digest[index] ?? 0) % 32];
    return id;
  }

  /** Whether the version is at least e.g. `atLeast(9, 5)`. */
  atLeast(major: number, minor = 0): boolean {
    const [ownMajor = 0, ownMinor = 0] = this.options.version.split('.').map(Number);
    return ownMajor > major || (ownMajor === major && ownMinor >= minor);
  }

  isDisabled(feature: Feature): boolean {
    return this.options.disabled.includes(feature);
  }

  isAdmin(user: User): boolean {
    return user.roles.split(' ').includes('system_admin');
  }

  user(id: string): User {
    const user = this.users.get(id);
    if (user) return user;
    throw notFound('app.user.missing_account.const', 'Unable to find the user.');
  }

  team(id: string): Team {
    const team = this.teams.get(id);
    if (team) return team;
    throw notFound('app.team.get.find.app_error', 'Unable to find the existing team.');
  }

  channel(id: string): Channel {
    const channel = this.channels.get(id);
    if (channel) return channel;
    throw notFound('app.channel.get.existing.app_error', 'Unable to find the existing channel.');
  }

  /** Finds a post that is not deleted. */
  post(id: string): Post {
    const post = this.posts.get(id);
    if (post && post.delete_at === 0) return post;
    throw notFound('app.post.get.app_error', 'Unable to get the post.');
  }

  teamMember(teamId: string, userId: string): TeamMember | undefined {
    return this.teamMembers.find(
      (member) => member.team_id === teamId && member.user_id === userId && !member.delete_at,
    );
  }

  member(channelId: string, userId: string): ChannelMember | undefined {
    return this.members.get(channelId)?.get(userId);
  }

  membersOf(channelId: string): ChannelMember[] {
    return [...(this.members.get(channelId)?.values() ?? [])];
  }

  /** Members can read posts; from version 10 the whole team can read public channels. */
  mayRead(user: User, channel: Channel): boolean {
    return (this.atLeast(10) && this.mayFind(user, channel)) || this.isAdmin(user) || this.isIn(user, channel);
  }

  /** Public channels are visible to their whole team. */
  mayFind(user: User, channel: Channel): boolean {
    if (this.isAdmin(user) || this.isIn(user, channel)) return true;
    return channel.type === 'O' && this.teamMember(channel.team_id, user.id) !== undefined;
  }

  isIn(user: User, channel: Channel): boolean {
    return this.member(channel.id, user.id) !== undefined;
  }

  findable(user: User, channelId: string): Channel {
    const channel = this.channel(channelId);
    if (!this.mayFind(user, channel)) throw forbidden('read_public_channel');
    return channel;
  }

  /** Before version 8 an unknown channel gives 403, like a hidden one. */
  readable(user: User, channelId: string): Channel {
    if (!this.atLeast(8) && !this.channels.has(channelId)) throw forbidden('read_channel');
    const channel = this.channel(channelId);
    if (!this.mayRead(user, channel)) throw forbidden('read_channel');
    return channel;
  }

  /** For data that even a public channel shows only to members. */
  joined(user: User, channelId: string): Channel {
    const channel = this.channel(channelId);
    if (!this.isAdmin(user) && !this.member(channelId, user.id)) throw forbidden('read_channel');
    return channel;
  }

  teamFor(user: User, teamId: string, permission = 'view_team'): Team {
    const team = this.team(teamId);
    if (!this.isAdmin(user) && !this.teamMember(teamId, user.id)) throw forbidden(permission);
    return team;
  }

  /** Users may act for themselves, administrators for everyone. */
  self(user: User, userId: string): User {
    if (userId !== user.id && !this.isAdmin(user)) throw forbidden('edit_other_users');
    return this.user(userId);
  }
}
