// The tool get_digest: what happened in the channels of this account since a time, in one call of limited size.
import { z } from 'zod';
import type { ToolContext } from '../account/account.ts';
import type { ChannelRecord, PostRecord } from '../client/records.ts';
import { type Compact, isoTime, omitEmpty } from './base/compact.ts';
import { readMyChannels, readMyTeams } from './base/my-channels.ts';
import { readPostPage } from './base/post-pages.ts';
import { presentPosts } from './base/present.ts';
import { id, record, time, toMilliseconds } from './base/schemas.ts';
import { defineTool } from './base/tool.ts';
import { type Failure, orRecordFailure } from './inbox.ts';

const list = (items: object) => ({ type: 'array', items });
const channel = record('id', 'name', 'type', 'new_messages', 'mentions', 'people', 'messages', 'truncated');

/** Read of each channel; further new messages are not counted. */
const POSTS_READ = 100;
const ROOM_FOR_TOTALS = 400;
const MAX_PEOPLE = 10;

export const digestTools = [
  defineTool({
    name: 'get_digest',
    title: 'What happened since',
    description:
      'What happened in the channels of this account since a time, read or not, in one call: channels with mentions first, then direct ones, with who wrote how much and the latest messages. Covers all teams, or only team_id. Marks nothing as read.',
    capability: 'read',
    effect: 'read',
    tags: ['message', 'channel'],
    input: {
      since: time(),
      team_id: id().optional(),
      max_channels: z.int().min(1).max(100).default(30),
      messages_per_channel: z.int().min(0).max(POSTS_READ).default(20),
      max_characters: z.int().min(2000).max(100_000).default(40_000).describe('Size of the result'),
    },
    check: ({ since }) => (toMilliseconds(since) >= Date.now() ? 'since must be in the past' : undefined),
    output: {
      type: 'object',
      properties: {
        since: { type: 'string' },
        channels: list(channel),
        active_channels: { type: 'integer' },
        truncated: { type: 'boolean' },
        failures: list({ type: 'object' }),
      },
      required: ['since', 'channels', 'truncated'],
    },
    async run({ since, team_id, max_channels, messages_per_channel, max_characters }, context) {
      const start = toMilliseconds(since);
      const failures: Failure[] = [];
      const teams = team_id ? [team_id] : (await readMyTeams(context)).map((team) => team.id);
      const active = await findActiveChannels(context, { teams, since: start, failures });
      const read = await Promise.all(
        active
          .slice(0, max_channels)
          .map((channel) =>
            orRecordFailure(failures, `channel ${channel.id}`, () => readActivity(context, channel, start)),
          ),
      );
      const activities = read.flatMap((one) => (one && one.posts.length > 0 ? [one] : [])).sort(byImportance);
      const unread = Math.max(0, active.length - max_channels);
      const totals = {
        since: isoTime(start),
        active_channels: activities.length + unread,
        ...omitEmpty({ failures }),
      };
      const characters = max_characters - JSON.stringify(totals).length - ROOM_FOR_TOTALS;
      const channels = await presentActivities(context, activities, { count: messages_per_channel, characters });
      const isTruncated = unread > 0 || channels.length < activities.length;
      return { ...totals, channels, truncated: isTruncated || channels.some((one) => one.truncated === true) };
    },
  }),
];

interface Activity {
  channel: ChannelRecord;
  /** New messages, oldest first, without those about people who come and go. */
  posts: PostRecord[];
  /** There are more new messages. */
  isTruncated: boolean;
  mentions: number;
}

interface ActiveRequest {
  teams: readonly string[];
  since: number;
  failures: Failure[];
}

/** Most recently active first. */
async function findActiveChannels(
  context: ToolContext,
  { teams, since, failures }: ActiveRequest,
): Promise<ChannelRecord[]> {
  const lists = await Promise.all(
    teams.map((team) => orRecordFailure(failures, `team ${team}`, () => readMyChannels(context, team))),
  );
  // direct channels appear in every team
  const all = new Map(lists.flatMap((mine) => mine ?? []).map(({ channel }) => [channel.id, channel]));
  const lastPost = ({ last_post_at }: ChannelRecord) => last_post_at ?? 0;
  return [...all.values()].filter((one) => lastPost(one) > since).sort((one, other) => lastPost(other) - lastPost(one));
}

async function readActivity({ api, names }: ToolContext, channel: ChannelRecord, since: number): Promise<Activity> {
  const page = await readPostPage(api, channel.id, { per_page: POSTS_READ });
  const recent = page.posts.filter(({ create_at }) => (create_at ?? 0) > since);
  const posts = recent.filter(({ type }) => !/^system_(join|leave|add|remove)/.test(type ?? ''));
  const me = await names.me();
  const isMention = ({ user_id, message }: PostRecord) => user_id !== me.id && mentions(message, me.username);
  return {
    channel,
    posts,
    isTruncated: page.isTruncated && recent.length === page.posts.length,
    mentions: posts.filter(isMention).length,
  };
}

function mentions(message: string | null | undefined, username: string | null | undefined): boolean {
  const named = message?.toLowerCase().match(/@[a-z0-9._-]*[a-z0-9_-]/g) ?? [];
  return named.some((name) => name === `@${username}` || ['@channel', '@all', '@here'].includes(name));
}

function byImportance(one: Activity, other: Activity): number {
  const rank = ({ channel, mentions }: Activity) => (mentions > 0 ? 0 : channel.type === 'D' ? 1 : 2);
  return rank(one) - rank(other) || (other.channel.last_post_at ?? 0) - (one.channel.last_post_at ?? 0);
}

interface PresentRequest {
  /** Messages per channel. */
  count: number;
  /** Of the JSON of all channels. */
  characters: number;
}

/** What one channel leaves of its share goes to the next ones. Channels that do not fit are left out. */
async function presentActivities(
  context: ToolContext,
  activities: readonly Activity[],
  { count, characters }: PresentRequest,
): Promise<Compact[]> {
  const presented: Compact[] = [];
  let remaining = characters;
  for (const [index, activity] of activities.entries()) {
    const share = Math.floor(remaining / (activities.length - index));
    const one = await presentActivity(context, activity, { count, characters: share });
    remaining -= JSON.stringify(one).length + 1;
    if (remaining < 0) break;
    presented.push(one);
  }
  return presented;
}

async function presentActivity(
  context: ToolContext,
  { channel, posts, isTruncated, mentions }: Activity,
  { count, characters }: PresentRequest,
): Promise<Compact> {
  const { id, type, team_id } = channel;
  const head = {
    ...omitEmpty({ id, name: await context.names.label(channel), type, team_id }),
    new_messages: posts.length,
    ...omitEmpty({ mentions: mentions || undefined, people: await countAuthors(context, posts) }),
  };
  const room = characters - JSON.stringify({ ...head, messages: [], truncated: true }).length;
  const shown = posts.slice(posts.length - Math.min(count, posts.length));
  const messages = await presentPosts(context, shown, { full: false, characters: Math.max(0, room) });
  while (messages.length > 0 && JSON.stringify(messages).length > room) messages.shift();
  return { ...head, messages, ...omitEmpty({ truncated: isTruncated || messages.length < posts.length }) };
}

/** `bob (3)`, the busiest first. */
async function countAuthors({ names }: ToolContext, posts: readonly PostRecord[]): Promise<string[]> {
  const users = await names.users(posts.map(({ user_id }) => user_id));
  const authors = Map.groupBy(posts, ({ user_id }) => users.get(user_id ?? '') ?? 'unknown');
  return [...authors]
    .sort(([, one], [, other]) => other.length - one.length)
    .slice(0, MAX_PEOPLE)
    .map(([name, { length }]) => `${name} (${length})`);
}
