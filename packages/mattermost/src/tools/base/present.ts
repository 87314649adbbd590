// Mattermost records as tool results: with names added, compact or complete.

import type { ToolContext } from '../../account/account.ts';
import type { ChannelRecord, MemberRecord, PostListRecord, PostRecord, UserRecord } from '../../client/records.ts';
import {
  type Compact,
  compactChannel,
  compactMember,
  compactPost,
  compactUser,
  omitEmpty,
  textLength,
} from './compact.ts';

interface PostOptions {
  full: boolean;
  /** Adds the channel, for posts of several channels. */
  withChannel?: boolean;
  /** Posts in a list are truncated; a single post is not. */
  isListed?: boolean;
  /** Total length of all messages in the list. */
  characters?: number;
}

/** Clients accept results of about 25,000 tokens; get_post returns the full text of a message. */
export const MAX_LIST_CHARACTERS = 60_000;
/** Leaves at least a few lines for each post. */
export const MAX_LISTED_POSTS = 200;
const MAX_LISTED_LENGTH = 4000;

/** The length to which each message is cut so that all of them fit. */
function listedLength(posts: readonly PostRecord[], characters: number): number {
  const total = posts.reduce((sum, post) => sum + Math.min(textLength(post), MAX_LISTED_LENGTH), 0);
  if (total <= characters) return MAX_LISTED_LENGTH;
  return Math.min(MAX_LISTED_LENGTH, Math.floor(characters / posts.length));
}

export async function presentPosts(
  context: ToolContext,
  posts: readonly PostRecord[],
  { full, withChannel = false, isListed = true, characters = MAX_LIST_CHARACTERS }: PostOptions,
): Promise<Compact[]> {
  const { names } = context;
  const users = await names.users(posts.flatMap((post) => [post.user_id, ...acknowledgers(post)]));
  const channels = withChannel
    ? await names.labels(posts.map(({ channel_id }) => channel_id))
    : new Map<string, string>();
  const length = isListed ? listedLength(posts, characters) : undefined;
  const visible = full ? await Promise.all(posts.map((post) => withoutHiddenEmbeds(context, post))) : posts;
  return visible.map((post) => {
    const labels = { user: users.get(post.user_id ?? ''), channel: channels.get(post.channel_id ?? '') };
    if (full) return { ...post, ...omitEmpty(labels) };
    const acknowledgedBy = acknowledgers(post).flatMap((id) => users.get(id) ?? []);
    return compactPost(post, {
      ...labels,
      acknowledgedBy,
      listedLength: length,
      isChannelKnown: isListed && !withChannel,
    });
  });
}

function acknowledgers({ metadata }: PostRecord): string[] {
  return metadata?.acknowledgements?.map(({ user_id }) => user_id) ?? [];
}

/** Removes previews of linked messages in channels that may not be read. */
async function withoutHiddenEmbeds({ policy }: ToolContext, post: PostRecord): Promise<PostRecord> {
  const { metadata, channel_id } = post;
  if (!metadata?.embeds) return post;
  const embeds = await policy.filterReadable(metadata.embeds, ({ type, data }) =>
    type === 'permalink' ? data?.post?.channel_id : channel_id,
  );
  return { ...post, metadata: { ...metadata, embeds } };
}

export async function presentPost(context: ToolContext, post: PostRecord, full: boolean): Promise<Compact> {
  const [presented = {}] = await presentPosts(context, [post], { full, withChannel: true, isListed: false });
  return presented;
}

const MAX_ECHO_LENGTH = 500;

/** The written post, cut short because the agent knows its text. */
export async function presentWritten(context: ToolContext, post: PostRecord, full: boolean): Promise<Compact> {
  const options = { full, withChannel: true, characters: MAX_ECHO_LENGTH };
  const [presented = {}] = await presentPosts(context, [post], options);
  return full ? presented : { ...presented, ...omitEmpty({ user_id: post.user_id }) };
}

export async function presentChannels(
  context: ToolContext,
  channels: readonly ChannelRecord[],
  full: boolean,
): Promise<Compact[]> {
  context.names.rememberChannels(channels);
  // fetch the people of all direct channels in one request
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
    return full ? { ...member, ...omitEmpty({ username }) } : compactMember(member, username);
  });
}

export function presentUsers(context: ToolContext, users: readonly UserRecord[], full: boolean): Compact[] {
  context.names.rememberUsers(users);
  return users.map((user) => (full ? { ...user } : compactUser(user)));
}

/** Posts of a list, newest first, without thread roots that Mattermost added for context. */
export function orderedPosts({ order, posts }: PostListRecord): PostRecord[] {
  return (order ?? []).flatMap((id) => posts?.[id] ?? []);
}
