// The state of a gateway in a SQLite file or PostgreSQL.
import { sha256 } from '@pocket-agent/kit';
import { type MigrationSet, openStore, type Store } from '@pocket-agent/store';
import { type CallerSettings, checkCallerName, checkSettings, hasTokenOfGateway } from './caller.ts';
import {
  alreadyThere,
  type Count,
  type GatewayState,
  type GivenAnswer,
  type KnownCaller,
  type LoginKey,
  type OpenQuestion,
  readAnswer,
  readSettings,
} from './state.ts';
import { newToken } from './tokens.ts';

interface Tables {
  gateway_callers: { name: string; token_hash: string; settings: string; created_at: number };
  gateway_counts: { caller: string; period: string; count: number; ends_at: number };
  gateway_logins: { caller: string; server: string; login: string };
  gateway_questions: { id: string; question: string; answer: string | null; asked_at: number; expires_at: number };
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
    {
      name: 'amounts of money, and questions',
      async up(run, kind) {
        // integers of SQLite have 64 bits
        if (kind === 'postgres') await run('alter table gateway_counts alter column count type bigint');
        await run(`create table gateway_questions (
          id text primary key, question text not null, answer text, asked_at bigint not null, expires_at bigint not null)`);
      },
    },
    {
      name: 'logins at servers',
      async up(run) {
        await run(`create table gateway_logins (
          caller text not null, server text not null, login text not null, primary key (caller, server))`);
      },
    },
  ],
};

export async function openSqlState(location: string): Promise<GatewayState> {
  const where = /^postgres(ql)?:\/\//.test(location) ? { url: location } : { file: location };
  return new SqlState(await openStore<Tables>({ ...where, ...tables }));
}

/** Every request looks up its caller, and writing the SQL takes as long as running it. */
function callerQuery({ db }: Store<Tables>) {
  return db.selectFrom('gateway_callers').selectAll().where('token_hash', '=', '').compile();
}

function knownCaller({ name, settings, created_at: at }: Tables['gateway_callers']): KnownCaller {
  return { name, settings: readSettings(settings), createdAt: new Date(at) };
}

class SqlState implements GatewayState {
  readonly #store: Store<Tables>;
  readonly #callerQuery: ReturnType<typeof callerQuery>;

  constructor(store: Store<Tables>) {
    this.#store = store;
    this.#callerQuery = callerQuery(store);
  }

  async addCaller(name: string, settings: CallerSettings): Promise<string> {
    checkCallerName(name);
    checkSettings(settings);
    const { token, hash } = newToken();
    const row = { name, token_hash: hash, settings: JSON.stringify(settings), created_at: Date.now() };
    const { numInsertedOrUpdatedRows = 0n } = await this.#store.db
      .insertInto('gateway_callers')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .executeTakeFirstOrThrow();
    if (numInsertedOrUpdatedRows === 0n) throw alreadyThere(name);
    await this.#removeLogins(name); // of an earlier caller, whose removal was interrupted
    return token;
  }

  async callers(): Promise<KnownCaller[]> {
    const rows = await this.#store.db.selectFrom('gateway_callers').selectAll().orderBy('name').execute();
    return rows.map(knownCaller);
  }

  async removeCaller(name: string): Promise<boolean> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('gateway_callers')
      .where('name', '=', name)
      .executeTakeFirstOrThrow();
    const logins = await this.#removeLogins(name);
    return numDeletedRows > 0n || logins > 0n;
  }

  async #removeLogins(caller: string): Promise<bigint> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('gateway_logins')
      .where('caller', '=', caller)
      .executeTakeFirstOrThrow();
    return numDeletedRows;
  }

  async callerWith(token: string): Promise<KnownCaller | undefined> {
    const query: ReturnType<typeof callerQuery> = { ...this.#callerQuery, parameters: [sha256(token)] };
    const { rows } = await this.#store.db.executeQuery(query);
    const [row] = rows;
    return row && knownCaller(row);
  }

  async count({ caller, period, endsAt, amount }: Count): Promise<number> {
    const { count } = await this.#store.db
      .insertInto('gateway_counts')
      .values({ caller, period, count: amount, ends_at: endsAt })
      .onConflict((conflict) =>
        conflict
          .columns(['caller', 'period'])
          .doUpdateSet(({ eb }) => ({ count: eb('gateway_counts.count', '+', amount) })),
      )
      .returning('count')
      .executeTakeFirstOrThrow();
    // the first count of a period deletes those of earlier periods
    if (count === amount) await this.#store.db.deleteFrom('gateway_counts').where('ends_at', '<', Date.now()).execute();
    return count;
  }

  async ask(question: OpenQuestion): Promise<void> {
    const { id, askedAt, expiresAt } = question;
    // killed processes leave their questions behind
    await this.#store.db.deleteFrom('gateway_questions').where('expires_at', '<', Date.now()).execute();
    const row = { id, question: JSON.stringify(question), answer: null, asked_at: askedAt, expires_at: expiresAt };
    await this.#store.db.insertInto('gateway_questions').values(row).execute();
  }

  async questions(): Promise<OpenQuestion[]> {
    const rows = await this.#current().where('answer', 'is', null).execute();
    return rows.map(({ question }) => JSON.parse(question) as OpenQuestion);
  }

  async asked(): Promise<OpenQuestion[]> {
    return (await this.#current().execute()).map(({ question }) => JSON.parse(question) as OpenQuestion);
  }

  async answer(id: string, given: GivenAnswer): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('gateway_questions')
      .set({ answer: JSON.stringify(given) })
      .where('id', '=', id)
      .where('answer', 'is', null)
      .where('expires_at', '>', Date.now())
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  async answers(ids: readonly string[]): Promise<Map<string, GivenAnswer>> {
    const rows = await this.#store.db
      .selectFrom('gateway_questions')
      .select(['id', 'answer'])
      .where('id', 'in', ids)
      .where('answer', 'is not', null)
      .execute();
    return new Map(rows.flatMap(({ id, answer }) => (answer === null ? [] : [[id, readAnswer(answer)]])));
  }

  async withdraw(id: string): Promise<void> {
    await this.#store.db.deleteFrom('gateway_questions').where('id', '=', id).execute();
  }

  async take(id: string): Promise<{ given?: GivenAnswer } | undefined> {
    const taken = await this.#store.db
      .deleteFrom('gateway_questions')
      .where('id', '=', id)
      .where('expires_at', '>', Date.now())
      .returning('answer')
      .executeTakeFirst();
    return taken && (taken.answer === null ? {} : { given: readAnswer(taken.answer) });
  }

  logins(): Promise<LoginKey[]> {
    const { db } = this.#store;
    return db.selectFrom('gateway_logins').select(['caller', 'server']).orderBy('caller').orderBy('server').execute();
  }

  async login({ caller, server }: LoginKey): Promise<string | undefined> {
    const row = await this.#store.db
      .selectFrom('gateway_logins')
      .select('login')
      .where('caller', '=', caller)
      .where('server', '=', server)
      .executeTakeFirst();
    return row?.login;
  }

  async saveLogin({ caller, server }: LoginKey, login: string | undefined, replaces?: string): Promise<void> {
    const { db } = this.#store;
    if (login === undefined) {
      const all = db.deleteFrom('gateway_logins').where('caller', '=', caller).where('server', '=', server);
      await (replaces === undefined ? all : all.where('login', '=', replaces)).execute();
      return;
    }
    if (replaces !== undefined) {
      const same = db
        .updateTable('gateway_logins')
        .set({ login })
        .where('caller', '=', caller)
        .where('server', '=', server);
      await same.where('login', '=', replaces).execute();
      return;
    }
    const row = { caller, server, login };
    const insert = db.insertInto('gateway_logins');
    const added = hasTokenOfGateway(caller)
      ? insert.columns(['caller', 'server', 'login']).expression(({ selectFrom, val }) =>
          selectFrom('gateway_callers')
            .select(['name', val(server).as('server'), val(login).as('login')])
            .where('name', '=', caller),
        )
      : insert.values(row);
    await added.onConflict((conflict) => conflict.columns(['caller', 'server']).doUpdateSet({ login })).execute();
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  #current() {
    return this.#store.db
      .selectFrom('gateway_questions')
      .select('question')
      .where('expires_at', '>', Date.now())
      .orderBy('asked_at')
      .orderBy('id');
  }
}
