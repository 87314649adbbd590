// Who and what the ids in results are: people, channels and teams, looked up in batches and kept for a while.
// One per identity: what one account may see is never shown to another.

import { isMattermostError } from '../base/errors.ts';
import { Memory } from '../base/memory.ts';
import type { MattermostApi } from '../client/api.ts';
import { path } from '../client/path.ts';
import type { ChannelRecord, TeamRecord, UserRecord } from '../client/records.ts';

const USERS_AT_ONCE = 100;
/** Channels asked for one by one, for one result; the rest stay without a name. */
const CHANNELS_AT_ONCE = 20;

export class Names {
  readonly #api: MattermostApi;
  readonly #users = new Memory<string>({ most: 5000, ms: 600_000 });
  readonly #channels = new Memory<ChannelRecord>({ most: 2000, ms: 60_000 });
  readonly #teams = new Memory<TeamRecord>({ most: 200, ms: 300_000 });
  readonly #me = new Memory<UserRecord>({ most: 1, ms: 600_000 });

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

  /** Names of people by id; those that cannot be had are left out, because a result without them is better than none. */
  async users(ids: Iterable<string | null | undefined>): Promise<Map<string, string>> {
    const wanted = distinct(ids);
    const missing = wanted.filter((id) => !this.#users.find(id));
    const batches = Array.from({ length: Math.ceil(missing.length / USERS_AT_ONCE) }, (_, index) =>
      missing.slice(index * USERS_AT_ONCE, (index + 1) * USERS_AT_ONCE),
    );
    await Promise.all(batches.map((batch) => this.#loadUsers(batch)));
    const names = new Map<string, string>();
    for (const id of wanted) {
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

  /** How people call a channel: its name, or for a direct one the other person. */
  async label(channel: ChannelRecord): Promise<string> {
    if (channel.type !== 'D') return channel.display_name || channel.name || channel.id;
    const people = channel.name?.split('__') ?? [];
    const me = await this.me();
    const other = people.find((id) => id !== me.id) ?? me.id;
    return `@${(await this.users([other])).get(other) ?? other}`;
  }

  /** Labels by id, as far as they can be had. */
  async labels(ids: Iterable<string | null | undefined>): Promise<Map<string, string>> {
    const wanted = distinct(ids);
    const known = wanted.filter((id) => this.#channels.find(id));
    const asked = wanted.filter((id) => !known.includes(id)).slice(0, CHANNELS_AT_ONCE);
    const labels = new Map<string, string>();
    await Promise.all(
      [...known, ...asked].map(async (id) => {
        const label = await this.#orNothing(async () => this.label(await this.channel(id)));
        if (label !== undefined) labels.set(id, label);
      }),
    );
    return labels;
  }

  async #loadUsers(ids: readonly string[]): Promise<void> {
    const users = await this.#orNothing(() => this.#api.askList<UserRecord>('/users/ids', ids));
    this.rememberUsers(users ?? []);
  }

  async #orNothing<Value>(load: () => Promise<Value>): Promise<Value | undefined> {
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
