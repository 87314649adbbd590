// Records of Mattermost as results: with names, compact or whole.

import type { ToolContext } from '../../account/caller.ts';
import type { ChannelRecord, MemberRecord, PostListRecord, PostRecord, UserRecord } from '../../client/records.ts';
import { type Compact, compactChannel, compactMember, compactPost, compactUser, textLength, tidy } from './compact.ts';

interface PostOptions {
  full: boolean;
  /** Posts of several channels tell which. */
  withChannel?: boolean;
  /** A single post is told whole. */
  isListed?: boolean;
  /** How long the messages of a list may be together. */
  characters?: number;
}

/** What clients take as one result is some 25,000 tokens; get_post has a message whole. */
export const LISTED_CHARACTERS = 60_000;
/** As many as leave each of them a few lines. */
export const MOST_LISTED = 200;
const LONGEST_LISTED = 4000;

/** Messages are cut only as far as it takes for all of them to fit. */
function listedLength(posts: readonly PostRecord[], characters: number): number {
  const total = posts.reduce((sum, post) => sum + Math.min(textLength(post), LONGEST_LISTED), 0);
  if (total <= characters) return LONGEST_LISTED;
  return Math.min(LONGEST_LISTED, Math.floor(characters / posts.length));
}

export async function presentPosts(
  context: ToolContext,
  posts: readonly PostRecord[],
  { full, withChannel = false, isListed = true, characters = LISTED_CHARACTERS }: PostOptions,
): Promise<Compact[]> {
  const { names } = context;
  const users = await names.users(posts.map(({ user_id }) => user_id));
  const channels = withChannel
    ? await names.labels(posts.map(({ channel_id }) => channel_id))
    : new Map<string, string>();
  const length = isListed ? listedLength(posts, characters) : undefined;
  const shown = full ? await Promise.all(posts.map((post) => withoutHidden(context, post))) : posts;
  return shown.map((post) => {
    const known = { user: users.get(post.user_id ?? ''), channel: channels.get(post.channel_id ?? '') };
    if (full) return { ...post, ...tidy(known) };
    return compactPost(post, { ...known, listedLength: length, isChannelKnown: isListed && !withChannel });
  });
}

/** Without messages of other channels that links in it lead to, where those may not be read. */
async function withoutHidden({ policy }: ToolContext, post: PostRecord): Promise<PostRecord> {
  const { metadata, channel_id } = post;
  if (!metadata?.embeds) return post;
  const embeds = await policy.readable(metadata.embeds, ({ type, data }) =>
    type === 'permalink' ? data?.post?.channel_id : channel_id,
  );
  return { ...post, metadata: { ...metadata, embeds } };
}

export async function presentPost(context: ToolContext, post: PostRecord, full: boolean): Promise<Compact> {
  const [presented = {}] = await presentPosts(context, [post], { full, withChannel: true, isListed: false });
  return presented;
}

const LONGEST_ECHO = 500;

/** What was just written comes back short: its author knows it. */
export async function presentWritten(context: ToolContext, post: PostRecord, full: boolean): Promise<Compact> {
  const options = { full, withChannel: true, characters: LONGEST_ECHO };
  const [presented = {}] = await presentPosts(context, [post], options);
  return full ? presented : { ...presented, ...tidy({ user_id: post.user_id }) };
}

export async function presentChannels(
  context: ToolContext,
  channels: readonly ChannelRecord[],
  full: boolean,
): Promise<Compact[]> {
  context.names.rememberChannels(channels);
  // the people of direct channels in one request, instead of one for each
  const direct = channels.filter(({ type }) => type === 'D').flatMap(({ name }) => name?.split('__') ?? []);
  await context.names.users(direct);
  return Promise.all(channels.map((channel) => presentChannel(context, channel, full)));
}

export async function presentChannel(context: ToolContext, channel: ChannelRecord, full: boolean): Promise<Compact> {
  const label = channel.type === 'D' ? await context.names.label(channel) : undefined;
  return full ? { ...channel, ...(label ? { display_name: label } : {}) } : compactChannel(channel, label);
}

export async function presentMembers(
  context: ToolContext,
  members: readonly MemberRecord[],
  full: boolean,
): Promise<Compact[]> {
  const users = await context.names.users(members.map(({ user_id }) => user_id));
  return members.map((member) => {
    const username = users.get(member.user_id);
    return full ? { ...member, ...tidy({ username }) } : compactMember(member, username);
  });
}

export function presentUsers(context: ToolContext, users: readonly UserRecord[], full: boolean): Compact[] {
  context.names.rememberUsers(users);
  return users.map((user) => (full ? { ...user } : compactUser(user)));
}

/** Newest first, as Mattermost lists them; roots that were sent along only for their replies are left out. */
export function postsOf({ order, posts }: PostListRecord): PostRecord[] {
  return (order ?? []).flatMap((id) => posts?.[id] ?? []);
}

/** The arguments for what follows, when something does. */
export function paged(
  isTruncated: boolean,
  next: Record<string, unknown>,
): { truncated: boolean; next?: Record<string, unknown> } {
  return isTruncated ? { truncated: true, next } : { truncated: false };
}
