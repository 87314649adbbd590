// Kysely on node:sqlite. The connection is one and synchronous, so waiting for another writer must not block:
// a writer in this process could then never finish.
import { mkdir, open } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setTimeout as passed } from 'node:timers/promises';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import { messageOf, StoreError } from './store-error.ts';

const BUSY_MS = 10_000;
const BUSY_STEP_MS = 2;
const MOST_STATEMENTS = 256;
const SQLITE_BUSY = 5;
/** In every database of ours, from its first moment. */
const MIGRATIONS = 'pocket_migrations';

export async function sqliteDialect(file: string): Promise<Dialect> {
  const { DatabaseSync } = await import('node:sqlite');
  const database = await openFile(file, (path) => new DatabaseSync(path, { timeout: 0 }));
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

async function openFile(file: string, opened: (path: string) => DatabaseSync): Promise<DatabaseSync> {
  const path = file === ':memory:' ? file : resolve(file);
  let database: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') await make(path);
    const fresh = opened(path);
    database = fresh;
    refuseForeign(await untilFree(() => fresh.prepare("select name from sqlite_master where type = 'table'").all()));
    await untilFree(() =>
      fresh.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on'),
    );
    return fresh;
  } catch (cause) {
    database?.close();
    throw new StoreError('OPEN_FAILED', `Could not open the SQLite file ${path}: ${messageOf(cause)}`, { cause });
  }
}

/** For its owner alone, and so are the files that SQLite puts beside it; one that is there stays as it is. */
async function make(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const handle = await open(path, 'a', 0o600);
  await handle.close();
}

/** A wrong path must not cost somebody else's data. */
function refuseForeign(tables: readonly Record<string, unknown>[]): void {
  if (tables.length > 0 && !tables.some(({ name }) => name === MIGRATIONS))
    throw new Error('it is the database of another program; name another file');
}

class SqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: SqliteConnection;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new SqliteConnection(database);
  }

  async init(): Promise<void> {}

  // the adapter says that there is one connection, so Kysely hands it out to one at a time
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  // one that began by reading and then writes could not wait for another writer
  async beginTransaction(): Promise<void> {
    await untilFree(() => this.#database.exec('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    await untilFree(() => this.#database.exec('commit'));
  }

  async rollbackTransaction(): Promise<void> {
    if (this.#database.isTransaction) this.#database.exec('rollback');
  }

  async savepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    this.#database.exec(`savepoint ${quoted(name)}`);
  }

  async rollbackToSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    this.#database.exec(`rollback to ${quoted(name)}`);
  }

  async releaseSavepoint(_connection: DatabaseConnection, name: string): Promise<void> {
    this.#database.exec(`release ${quoted(name)}`);
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    if (this.#database.isOpen) this.#database.close();
  }
}

class SqliteConnection implements DatabaseConnection {
  readonly #database: DatabaseSync;
  readonly #statements = new Map<string, { statement: StatementSync; reads: boolean }>();

  constructor(database: DatabaseSync) {
    this.#database = database;
  }

  async executeQuery<Row>({ sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
    return untilFree(() => {
      const { statement, reads } = this.#prepared(sql);
      const values = parameters.map(inputValue);
      // what a row holds is a matter between the query and its author
      if (reads) return { rows: statement.all(...values) as Row[] };
      const { changes, lastInsertRowid } = statement.run(...values);
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) };
    });
  }

  async *streamQuery<Row>(query: CompiledQuery): AsyncIterableIterator<QueryResult<Row>> {
    yield await this.executeQuery(query);
  }

  #prepared(sql: string): { statement: StatementSync; reads: boolean } {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#database.prepare(sql);
    const prepared = { statement, reads: statement.columns().length > 0 };
    const [oldest] = this.#statements.keys();
    if (this.#statements.size >= MOST_STATEMENTS && oldest !== undefined) this.#statements.delete(oldest);
    this.#statements.set(sql, prepared);
    return prepared;
  }
}

async function untilFree<Value>(work: () => Value): Promise<Value> {
  const deadline = Date.now() + BUSY_MS;
  for (let step = BUSY_STEP_MS; ; step = Math.min(step * 2, 50)) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      if (Date.now() > deadline)
        throw new StoreError('BUSY', `Another writer has held the SQLite file for ${BUSY_MS / 1_000} seconds`, {
          cause,
        });
      await passed(step);
    }
  }
}

function isBusy(error: unknown): boolean {
  return (
    error instanceof Error &&
    'errcode' in error &&
    typeof error.errcode === 'number' &&
    (error.errcode & 0xff) === SQLITE_BUSY
  );
}

function inputValue(value: unknown): SQLInputValue {
  if (value === undefined) return null;
  if (typeof value === 'boolean') return value ? 1 : 0;
  if (value === null || typeof value === 'string' || typeof value === 'number' || typeof value === 'bigint')
    return value;
  if (value instanceof Uint8Array) return value;
  throw new TypeError(`SQLite takes no ${typeof value} as a value; write it as text or a number`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
