// Searches for messages and files of a team: terms as Mattermost expects them, and pages of readable results.
import type { ToolContext } from '../../account/account.ts';
import { path } from '../../client/path.ts';
import type { ChannelRecord } from '../../client/records.ts';
import { pageEnd, readFromStart } from './paging.ts';

interface TeamSearch<Item> {
  team: string;
  terms: string;
  is_or_search: boolean;
  page: number;
  per_page: number;
  /** Sends the body to the search of messages or files. */
  read(body: object): Promise<Item[]>;
  channelOf(item: Item): string | null | undefined;
}

interface SearchResult<Item> {
  items: Item[];
  end: object;
}

/** A database search returns one page with at most this many results and ignores `per_page`. */
const DATABASE_SEARCH_LIMIT = 100;
const MAY_HAVE_MORE = {
  truncated: true,
  note: 'There may be more results: narrow the search with before:, in: or from:.',
};

export async function searchTeam<Item>(context: ToolContext, search: TeamSearch<Item>): Promise<SearchResult<Item>> {
  const { team, terms, is_or_search, page, per_page, read, channelOf } = search;
  await context.policy.requireTeamNotDenied(team);
  const exclusions = await hiddenChannelTerms(context, team);
  const { items, isTruncated, hitScanLimit, count } = await readFromStart<Item>(context, {
    page,
    per_page,
    channelOf,
    // exclusions come first: a modifier at the end of the terms would take the next word as its value
    read: (page, per_page) =>
      read({ terms: exclusions + withoutAtSigns(terms), is_or_search, page, per_page, time_zone_offset: 0 }),
  });
  if (hitScanLimit || (!isTruncated && count === DATABASE_SEARCH_LIMIT)) return { items, end: MAY_HAVE_MORE };
  return { items, end: pageEnd({ isTruncated }, { page: page + 1, per_page }) };
}

/** Removes the @ of `from:@alice`, which Mattermost would treat as part of the name. */
function withoutAtSigns(terms: string): string {
  return terms.replace(/(?<=(?:^|\s)-?from:\s*)@/gi, '');
}

/** Search terms that exclude hidden channels, so that their posts do not use up the limit of results. */
async function hiddenChannelTerms({ api, names, policy }: ToolContext, team: string): Promise<string> {
  if (policy.isUnrestricted('read')) return '';
  const channels = await api.list<ChannelRecord>(path`/users/me/teams/${team}/channels`);
  names.rememberChannels(channels);
  const readable = new Set(await policy.filterReadable(channels, ({ id }) => id));
  return channels.map((one) => (readable.has(one) ? '' : `-in:${one.name || one.id} `)).join('');
}
