// What all processes of a gateway share, in a SQLite file or PostgreSQL: callers with the hashes of their tokens, and counts.
import { randomBytes } from 'node:crypto';
import { configError, sha256 } from '@pocket-agent/kit';
import { type MigrationSet, openStore, type Store } from '@pocket-agent/store';
import { type CallerSettings, checkCallerName, checkSettings } from './caller.ts';

const TOKEN_PREFIX = 'pgw_';
const TOKEN_BYTES = 32;

interface Tables {
  gateway_callers: { name: string; token_hash: string; settings: string; created_at: number };
  gateway_counts: { caller: string; period: string; count: number; ends_at: number };
}

const tables: MigrationSet = {
  name: 'gateway',
  migrations: [
    {
      name: 'callers and counts',
      async up(run) {
        await run(`create table gateway_callers (
          name text primary key, token_hash text not null unique, settings text not null, created_at bigint not null)`);
        await run(`create table gateway_counts (
          caller text not null, period text not null, count integer not null, ends_at bigint not null,
          primary key (caller, period))`);
      },
    },
  ],
};

/** A caller with a token in the state of the gateway. */
export interface KnownCaller {
  name: string;
  settings: CallerSettings;
  createdAt: Date;
}

/** The callers of a gateway and what they have used. Any number of processes may open the same state. */
export class GatewayState {
  readonly #store: Store<Tables>;

  constructor(store: Store<Tables>) {
    this.#store = store;
  }

  /** Returns the token, which is not kept. */
  async addCaller(name: string, settings: CallerSettings): Promise<string> {
    checkCallerName(name);
    checkSettings(settings);
    const token = `${TOKEN_PREFIX}${randomBytes(TOKEN_BYTES).toString('base64url')}`;
    const row = { name, token_hash: sha256(token), settings: JSON.stringify(settings), created_at: Date.now() };
    const { numInsertedOrUpdatedRows = 0n } = await this.#store.db
      .insertInto('gateway_callers')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) throw configError(`There is a caller "${name}" already: revoke it first.`);
    return token;
  }

  async callers(): Promise<KnownCaller[]> {
    const rows = await this.#store.db.selectFrom('gateway_callers').selectAll().orderBy('name').execute();
    return rows.map(({ name, settings, created_at: at }) => ({
      name,
      settings: read(settings),
      createdAt: new Date(at),
    }));
  }

  /** False if there is no such caller. */
  async removeCaller(name: string): Promise<boolean> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('gateway_callers')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    return numDeletedRows > 0n;
  }

  /** Undefined for a token that is unknown or revoked. */
  async callerWith(token: string): Promise<Pick<KnownCaller, 'name' | 'settings'> | undefined> {
    const row = await this.#store.db
      .selectFrom('gateway_callers')
      .select(['name', 'settings'])
      .where('token_hash', '=', sha256(token))
      .executeTakeFirst();
    return row && { name: row.name, settings: read(row.settings) };
  }

  /** Counts one more in a period that ends at a time, and returns the count. */
  async count(caller: string, period: string, endsAt: number): Promise<number> {
    const { count } = await this.#store.db
      .insertInto('gateway_counts')
      .values({ caller, period, count: 1, ends_at: endsAt })
      .onConflict((conflict) =>
        conflict.columns(['caller', 'period']).doUpdateSet(({ eb }) => ({ count: eb('gateway_counts.count', '+', 1) })),
      )
      .returning('count')
      .executeTakeFirstOrThrow();
    // the first of a period tidies up after the ones before
    if (count === 1) await this.#store.db.deleteFrom('gateway_counts').where('ends_at', '<', Date.now()).execute();
    return count;
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

/** Opens the state of a gateway: a SQLite file, `:memory:`, or PostgreSQL by its URL. */
export async function openGatewayState(location: string): Promise<GatewayState> {
  const where = /^postgres(ql)?:\/\//.test(location) ? { url: location } : { file: location };
  return new GatewayState(await openStore<Tables>({ ...where, ...tables }));
}

function read(settings: string): CallerSettings {
  const value: unknown = JSON.parse(settings);
  checkSettings(value);
  return value;
}
