// The tool search_channels: finds channels of a team by part of a name, archived ones included.
import { z } from 'zod';
import type { ToolContext } from '../../account/account.ts';
import { path } from '../../client/path.ts';
import type { ChannelRecord } from '../../client/records.ts';
import { presentChannels } from '../base/present.ts';
import { full, pageOf } from '../base/schemas.ts';
import { defineTool } from '../base/tool.ts';
import { channel } from './channels.ts';

const MAX_CHANNELS = 100;

export const channelSearchTools = [
  defineTool({
    name: 'search_channels',
    title: 'Search channels',
    description:
      'Search the channels of a team by words of their display name, name or purpose: public ones, and those of this account, archived ones too.',
    capability: 'read',
    effect: 'read',
    tags: ['channel'],
    hasTeam: true,
    input: {
      term: z.string().trim().min(1).max(256),
      archived: z.enum(['include', 'exclude', 'only']).default('include'),
      full: full(),
    },
    output: pageOf('channels', channel, { note: {} }),
    async run({ team_id, term, archived, full }, context) {
      const team = await context.team(team_id);
      await context.policy.requireTeamNotDenied(team);
      const found = (await findChannels(context, team, term)).filter(
        ({ delete_at }) => archived === 'include' || Boolean(delete_at) === (archived === 'only'),
      );
      const channels = await presentChannels(context, found.slice(0, MAX_CHANNELS), full);
      if (found.length <= MAX_CHANNELS) return { channels, truncated: false };
      return { channels, truncated: true, note: 'There are more results: use a longer term.' };
    },
  }),
];

/** Readable channels; those whose whole name is the term come first, archived ones last. */
export async function findChannels({ api, policy }: ToolContext, team: string, term: string): Promise<ChannelRecord[]> {
  const [mine, found] = await Promise.all([
    api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`, { include_deleted: true }),
    api.queryList<ChannelRecord>(path`/teams/${team}/channels/search`, { term }),
  ]);
  // the search of Mattermost leaves out private and group channels
  const matching = mine.filter((one) => one.type !== 'D' && matches(one, term));
  const channels = [...new Map([...matching, ...found].map((one) => [one.id, one])).values()];
  const rank = (one: ChannelRecord) => (one.delete_at ? 2 : 0) + (isNamed(one, term) ? 0 : 1);
  return (await policy.filterReadable(channels, ({ id }) => id)).sort(
    (one, other) => rank(one) - rank(other) || (one.display_name ?? '').localeCompare(other.display_name ?? ''),
  );
}

export function isNamed({ name, display_name }: ChannelRecord, term: string): boolean {
  return [name, display_name].some((one) => one?.toLowerCase() === term.toLowerCase());
}

function matches({ name, display_name, purpose }: ChannelRecord, term: string): boolean {
  const text = `${name} ${display_name} ${purpose}`.toLowerCase();
  return term
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}
