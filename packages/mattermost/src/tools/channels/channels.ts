// Tools for channels: list, find, create and open.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { path } from '../../client/path.ts';
import type { ChannelRecord } from '../../client/records.ts';
import { isoTime, omitEmpty } from '../base/compact.ts';
import { readMyChannels, unreadCounts } from '../base/my-channels.ts';
import { pageEnd, readFromStart, readReadablePage } from '../base/paging.ts';
import { presentChannel, presentChannels } from '../base/present.ts';
import { channelName, full, id, listOf, page, pageOf, perPage, record } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';

export const channel = record(
  'id',
  'team_id',
  'type',
  'name',
  'display_name',
  'purpose',
  'header',
  'last_post',
  'total_msg_count',
);
const channelType = z.enum(['O', 'P', 'D', 'G']);

export const channelTools = [
  defineTool({
    name: 'list_public_channels',
    title: 'List public channels',
    description: 'List the public channels of a team, joined or not.',
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    hasTeam: true,
    input: { page: page(), per_page: perPage(), full: full() },
    output: pageOf('channels', channel, { note: {} }),
    async run({ team_id, page, per_page, full }, context) {
      const team = await context.team(team_id);
      const request = { page, per_page, channelOf, read: publicChannelReader(context, team) };
      const found = await readReadablePage(context, request);
      const channels = await presentChannels(context, found.items, full);
      return { channels, ...pageEnd(found, { page: page + 1 }) };
    },
  }),
  defineTool({
    name: 'list_my_channels',
    title: 'List my channels',
    description:
      'List the channels this account has joined in a team, including direct and group messages, with unread counts.',
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    hasTeam: true,
    input: {
      channel_types: z.array(channelType).min(1).nullish().describe('O: public, P: private, D: direct, G: group'),
      only_unread: z.boolean().default(false),
      collapsed_threads: z.boolean().default(false).describe('Ignore unread replies in threads'),
      full: full(),
    },
    output: listOf('channels', record('id', 'display_name', 'unread_msg_count', 'mention_count', 'last_viewed')),
    async run({ team_id, channel_types, only_unread, collapsed_threads, full }, context) {
      const mine = await readMyChannels(context, await context.team(team_id));
      const selected = mine.filter((one) => {
        if (channel_types && !channel_types.some((type) => type === one.channel.type)) return false;
        return !only_unread || unreadCounts(one, collapsed_threads).isUnread;
      });
      const presented = await presentChannels(
        context,
        selected.map(({ channel }) => channel),
        full,
      );
      const channels = selected.map((one, index) => {
        const { isUnread: _, ...counts } = unreadCounts(one, collapsed_threads);
        const viewed = full
          ? { last_viewed_at: one.member?.last_viewed_at }
          : omitEmpty({ last_viewed: isoTime(one.member?.last_viewed_at) });
        return { ...presented[index], ...counts, ...viewed };
      });
      return { channels };
    },
  }),
  defineTool({
    name: 'list_channels',
    title: 'List channels',
    description: 'List the public channels of a team and the private channels of this account.',
    isListed: false, // kept for clients of the Python server; new clients see list_my_channels and list_public_channels
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    hasTeam: true,
    input: { page: page(), per_page: perPage(), full: full() },
    output: pageOf('channels', channel, { note: {} }),
    async run({ team_id, page, per_page, full }, context) {
      const team = await context.team(team_id);
      const readPublic = publicChannelReader(context, team);
      const found = await readFromStart<ChannelRecord>(context, {
        page,
        per_page,
        channelOf,
        async read(page, per_page) {
          const mine = page === 0 ? await context.api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`) : [];
          const privateChannels = mine.filter(({ type }) => type === 'P');
          context.names.rememberChannels(privateChannels);
          return [...privateChannels, ...(await readPublic(page, per_page))];
        },
      });
      const channels = await presentChannels(context, found.items, full);
      return { channels, ...pageEnd(found, { page: page + 1, per_page }) };
    },
  }),
  defineTool({
    name: 'get_channel',
    title: 'Get channel',
    description: 'Get a channel by id.',
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    input: { channel_id: id(), full: full() },
    output: channel,
    async run({ channel_id, full }, context) {
      await context.policy.requireChannel(channel_id, 'read');
      return presentChannel(context, await context.api.get<ChannelRecord>(path`/channels/${channel_id}`), full);
    },
  }),
  defineTool({
    name: 'get_channel_by_name',
    title: 'Get channel by name',
    description: 'Get a channel by its name in URLs (e.g. town-square), not its display name.',
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    hasTeam: true,
    input: { channel_name: channelName(), full: full() },
    output: channel,
    async run({ team_id, channel_name, full }, context) {
      const team = await context.team(team_id);
      const found = await context.api.get<ChannelRecord>(path`/teams/${team}/channels/name/${channel_name}`);
      await context.policy.requireChannelRecord(found, 'read');
      return presentChannel(context, found, full);
    },
  }),
  defineTool({
    name: 'create_channel',
    title: 'Create channel',
    description: 'Create a public (O) or private (P) channel.',
    capability: 'create',
    effect: 'additive',
    tags: ['channel'],
    hasTeam: true,
    input: {
      name: channelName(),
      display_name: z.string().min(1).max(64),
      channel_type: z.enum(['O', 'P']).default('O'),
      purpose: z.string().max(250).default(''),
      header: z.string().max(1024).default(''),
      full: full(),
    },
    output: channel,
    async run({ team_id, name, display_name, channel_type: type, purpose, header, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireChannelRecord({ team_id: team, name, type }, 'write');
      const body = { team_id: team, name, display_name, type, purpose, header };
      return presentChannel(context, await context.api.post<ChannelRecord>('/channels', body), full);
    },
  }),
  defineTool({
    name: 'create_direct_channel',
    title: 'Open direct channel',
    description: 'Get or create the direct channel of two users, one of them usually this account (get_me).',
    capability: 'create',
    effect: 'idempotent',
    tags: ['channel'],
    input: { user_id_1: id(), user_id_2: id(), full: full() },
    output: channel,
    async run({ user_id_1, user_id_2, full }, context) {
      await context.policy.requireChannelRecord({ type: 'D', name: [user_id_1, user_id_2].sort().join('__') }, 'write');
      return openChannel(context, { endpoint: '/channels/direct', user_ids: [user_id_1, user_id_2], full });
    },
  }),
  defineTool({
    name: 'create_group_channel',
    title: 'Open group channel',
    description: 'Get or create the group channel of this account and 2 to 7 other users.',
    capability: 'create',
    effect: 'idempotent',
    tags: ['channel'],
    input: { user_ids: z.array(id()).min(2).max(8), full: full() },
    output: channel,
    async run({ user_ids: others, full }, context) {
      await context.policy.requireChannelRecord({ type: 'G' }, 'write');
      const user_ids = [...new Set([(await context.names.me()).id, ...others])];
      return openChannel(context, { endpoint: '/channels/group', user_ids, full });
    },
  }),
];

const channelOf = ({ id }: ChannelRecord) => id;

function publicChannelReader({ api, names }: ToolContext, team: string) {
  return async (page: number, per_page: number): Promise<ChannelRecord[]> => {
    const channels = await api.list<ChannelRecord>(path`/teams/${team}/channels`, { page, per_page });
    names.rememberChannels(channels);
    return channels;
  };
}

interface OpenRequest {
  endpoint: string;
  user_ids: readonly string[];
  full: boolean;
}

/** Checks the policy again afterwards: the channel may already exist and be listed by its id. */
async function openChannel(context: ToolContext, { endpoint, user_ids, full }: OpenRequest): Promise<object> {
  const channel = await context.api.post<ChannelRecord>(endpoint, user_ids);
  await context.policy.requireChannelRecord(channel, 'write');
  return presentChannel(context, channel, full);
}
