// The access policy: which channels and teams may be read and written, also when a call names only a post, file or
// bookmark. Access is refused if the channel cannot be determined.

import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { BookmarkRecord, ChannelRecord, FileRecord, PostRecord } from '../client/records.ts';
import type { AccessLists } from '../config/access-lists.ts';
import type { MattermostConfig } from '../config/config.ts';
import type { Names } from './names.ts';

export type Purpose = 'read' | 'write';

/** The fields that access lists match. A channel that does not exist yet has no id. */
type ListedChannel = Pick<ChannelRecord, 'team_id' | 'type' | 'name'> & { id?: string };

const KINDS: Readonly<Record<string, string>> = { D: '@direct', G: '@group' };

interface PolicyOptions {
  config: Pick<MattermostConfig, 'read' | 'write'>;
  names: Names;
  api: MattermostApi;
}

export class Policy {
  readonly #lists: Readonly<Record<Purpose, readonly AccessLists[]>>;
  readonly #names: Names;
  readonly #api: MattermostApi;

  constructor({ config: { read, write }, names, api }: PolicyOptions) {
    // writing requires that reading is allowed
    this.#lists = { read: [read].filter(isUsed), write: [read, write].filter(isUsed) };
    this.#names = names;
    this.#api = api;
  }

  isUnrestricted(purpose: Purpose): boolean {
    return this.#lists[purpose].length === 0;
  }

  async requireChannel(id: string, purpose: Purpose): Promise<void> {
    if (this.isUnrestricted(purpose)) return;
    await this.requireChannelRecord(await this.#names.channel(id), purpose);
  }

  async requireChannelRecord(channel: ListedChannel, purpose: Purpose): Promise<void> {
    if (await this.#isAllowed(channel, purpose)) return;
    throw refusal(purpose, 'that channel');
  }

  /** For data of a team that belongs to no channel, such as its members. */
  async requireTeam(id: string, purpose: Purpose): Promise<void> {
    for (const lists of this.#lists[purpose]) {
      const team = await this.#teamNames(id);
      const isIn = (entries: readonly string[]) => entries.some((entry) => team.includes(entry));
      const isOutside = lists.allowTeams.length > 0 && !isIn(lists.allowTeams);
      if (isIn(lists.denyTeams) || isOutside) throw refusal(purpose, 'that team');
    }
  }

  /** For data of a team that is filtered by channel afterwards. */
  async requireTeamNotDenied(id: string): Promise<void> {
    for (const { denyTeams } of this.#lists.read) {
      const team = await this.#teamNames(id);
      if (denyTeams.some((entry) => team.includes(entry))) throw refusal('read', 'that team');
    }
  }

  async requirePost(id: string, purpose: Purpose): Promise<void> {
    if (this.isUnrestricted(purpose)) return;
    const { channel_id: channelId } = await this.#api.get<PostRecord>(path`/posts/${id}`);
    if (!channelId) throw refusal(purpose, `post ${id}, whose channel is unknown`);
    await this.requireChannel(channelId, purpose);
  }

  async requireFile(id: string, purpose: Purpose): Promise<void> {
    if (this.isUnrestricted(purpose)) return;
    const file = await this.#api.get<FileRecord>(path`/files/${id}/info`);
    if (file.channel_id) await this.requireChannel(file.channel_id, purpose);
    else if (file.post_id) await this.requirePost(file.post_id, purpose);
    // uploaded by this account and not posted yet; older servers do not report the channel of such files
    else if (file.user_id && file.user_id === (await this.#names.me()).id) return;
    else throw refusal(purpose, `file ${id}, whose channel is unknown`);
  }

  /** Also checks that the bookmark belongs to the channel, because access lists contain only channels. */
  async requireBookmark(channelId: string, id: string, purpose: Purpose): Promise<void> {
    if (this.isUnrestricted(purpose)) return;
    await this.requireChannel(channelId, purpose);
    const bookmarks = await this.#api.list<BookmarkRecord>(path`/channels/${channelId}/bookmarks`);
    if (!bookmarks.some((bookmark) => bookmark.id === id)) throw refusal(purpose, `bookmark ${id} of another channel`);
  }

  async filterReadable<Item>(
    items: readonly Item[],
    channelOf: (item: Item) => string | null | undefined,
  ): Promise<Item[]> {
    if (this.isUnrestricted('read')) return [...items];
    const ids = [...new Set(items.map(channelOf))];
    const allowed = await Promise.all(ids.map((id) => this.#canRead(id)));
    return items.filter((item) => allowed[ids.indexOf(channelOf(item))] === true);
  }

  async #canRead(id: string | null | undefined): Promise<boolean> {
    if (!id) return false;
    try {
      await this.requireChannel(id, 'read');
      return true;
    } catch (error) {
      if (isMattermostError(error) && error.code !== 'ABORTED') return false;
      throw error;
    }
  }

  async #isAllowed(channel: ListedChannel, purpose: Purpose): Promise<boolean> {
    for (const lists of this.#lists[purpose]) {
      const team = channel.team_id ? await this.#teamNames(channel.team_id) : [];
      const names = namesOf(channel, team);
      const isIn = (entries: readonly string[], values: readonly string[]) =>
        entries.some((entry) => values.includes(entry));
      if (isIn(lists.denyChannels, names) || isIn(lists.denyTeams, team)) return false;
      const hasAllowList = lists.allowChannels.length > 0 || lists.allowTeams.length > 0;
      if (hasAllowList && !isIn(lists.allowChannels, names) && !isIn(lists.allowTeams, team)) return false;
    }
    return true;
  }

  async #teamNames(id: string): Promise<string[]> {
    const { name } = await this.#names.team(id);
    return name ? [id, name] : [id];
  }
}

function namesOf({ id, name, type }: ListedChannel, team: readonly string[]): string[] {
  const ownNames = [id, name].flatMap((one) => one || []);
  const kind = KINDS[type ?? ''];
  return [...ownNames, ...ownNames.flatMap((one) => team.map((part) => `${part}/${one}`)), ...(kind ? [kind] : [])];
}

function isUsed(lists: AccessLists): boolean {
  return Object.values(lists).some((entries) => entries.length > 0);
}

/** The message repeats only what the caller sent, so that ids do not reveal names of hidden channels. */
function refusal(purpose: Purpose, what: string): MattermostError {
  const activity = purpose === 'read' ? 'reading' : 'writing';
  const text = `Refused: the policy of this server does not allow ${activity} in ${what}. Use another one, or ask the operator of the server.`;
  return new MattermostError('REFUSED', text);
}
