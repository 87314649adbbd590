// Names of people, channels and teams by id, fetched in batches and cached per account, because accounts see different ones.

import { AsyncCache } from '../base/cache.ts';
import { isMattermostError } from '../base/errors.ts';
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, TeamRecord, UserRecord } from '../client/records.ts';

const USERS_PER_REQUEST = 100;
/** Unknown channels fetched for one result; the rest stay without a name. */
const MAX_CHANNEL_LOOKUPS = 20;

export class Names {
  readonly #api: MattermostApi;
  readonly #users = new AsyncCache<string>({ maxEntries: 5000, ttlMs: 600_000 });
  readonly #channels = new AsyncCache<ChannelRecord>({ maxEntries: 2000, ttlMs: 60_000 });
  readonly #teams = new AsyncCache<TeamRecord>({ maxEntries: 200, ttlMs: 300_000 });
  readonly #me = new AsyncCache<UserRecord>({ maxEntries: 1, ttlMs: 600_000 });

  constructor(api: MattermostApi) {
    this.#api = api;
  }

  me(): Promise<UserRecord> {
    return this.#me.get('me', () => this.#api.get('/users/me'));
  }

  channel(id: string): Promise<ChannelRecord> {
    return this.#channels.get(id, () => this.#api.get(path`/channels/${id}`));
  }

  team(id: string): Promise<TeamRecord> {
    return this.#teams.get(id, () => this.#api.get(path`/teams/${id}`));
  }

  teamByName(name: string): Promise<TeamRecord> {
    return this.#teams.get(`name ${name}`, () => this.#api.get(path`/teams/name/${name}`));
  }

  /** Usernames by id. Names that cannot be fetched are left out, so that the result is still usable. */
  async users(ids: Iterable<string | null | undefined>): Promise<Map<string, string>> {
    const uniqueIds = distinct(ids);
    const missing = uniqueIds.filter((id) => !this.#users.find(id));
    const batches = Array.from({ length: Math.ceil(missing.length / USERS_PER_REQUEST) }, (_, index) =>
      missing.slice(index * USERS_PER_REQUEST, (index + 1) * USERS_PER_REQUEST),
    );
    await Promise.all(batches.map((batch) => this.#loadUsers(batch)));
    const names = new Map<string, string>();
    for (const id of uniqueIds) {
      const name = await this.#users.find(id);
      if (name !== undefined) names.set(id, name);
    }
    return names;
  }

  rememberUsers(users: readonly UserRecord[]): void {
    for (const { id, username } of users) if (username) this.#users.set(id, Promise.resolve(username));
  }

  rememberChannels(channels: readonly ChannelRecord[]): void {
    for (const channel of channels) this.#channels.set(channel.id, Promise.resolve(channel));
  }

  /** The display name of a channel; for a direct channel the other person's username. */
  async label(channel: ChannelRecord): Promise<string> {
    if (channel.type !== 'D') return channel.display_name || channel.name || channel.id;
    const people = channel.name?.split('__') ?? [];
    const me = await this.me();
    const other = people.find((id) => id !== me.id) ?? me.id;
    return `@${(await this.users([other])).get(other) ?? other}`;
  }

  /** Labels by channel id. Labels that cannot be fetched are left out. */
  async labels(ids: Iterable<string | null | undefined>): Promise<Map<string, string>> {
    const uniqueIds = distinct(ids);
    const cached = uniqueIds.filter((id) => this.#channels.find(id));
    const fetched = uniqueIds.filter((id) => !cached.includes(id)).slice(0, MAX_CHANNEL_LOOKUPS);
    const labels = new Map<string, string>();
    await Promise.all(
      [...cached, ...fetched].map(async (id) => {
        const label = await this.#orUndefined(async () => this.label(await this.channel(id)));
        if (label !== undefined) labels.set(id, label);
      }),
    );
    return labels;
  }

  async #loadUsers(ids: readonly string[]): Promise<void> {
    const users = await this.#orUndefined(() => this.#api.queryList<UserRecord>('/users/ids', ids));
    this.rememberUsers(users ?? []);
  }

  async #orUndefined<Value>(load: () => Promise<Value>): Promise<Value | undefined> {
    try {
      return await load();
    } catch (error) {
      if (isMattermostError(error)) return undefined;
      throw error;
    }
  }
}

function distinct(ids: Iterable<string | null | undefined>): string[] {
  return [...new Set(ids)].flatMap((id) => id || []);
}
