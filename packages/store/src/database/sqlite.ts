// Kysely on node:sqlite. Its one connection is synchronous, so waiting for another writer must not block the event loop:
// a writer in this process could never finish.
import { open, stat } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { dropOldest, errorText, isWorker, makeFolder } from '@pocket-agent/kit';
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
import { StoreError } from './store-error.ts';

const BUSY_MS = 10_000;
const FIRST_RETRY_MS = 2;
const MAX_STATEMENTS = 256;
const SQLITE_BUSY = 5;
/** Every database of a store has this table. */
const MIGRATIONS_TABLE = 'pocket_migrations';

export async function sqliteDialect(file: string): Promise<Dialect> {
  if (isWorker())
    throw new StoreError('OPEN_FAILED', `SQLite (${file}) needs Node, Bun or Deno: Workers have no files.`);
  const { DatabaseSync } = await import('node:sqlite');
  const database = await openFile(file, (path) => new DatabaseSync(path, { timeout: 0 }));
  return {
    createAdapter: () => new SqliteAdapter(),
    createDriver: () => new SqliteDriver(database),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createQueryCompiler: () => new SqliteQueryCompiler(),
  };
}

async function openFile(file: string, openDatabase: (path: string) => DatabaseSync): Promise<DatabaseSync> {
  const path = file === ':memory:' ? file : resolve(file);
  let opened: DatabaseSync | undefined;
  try {
    if (path !== ':memory:') await createFile(path);
    const database = openDatabase(path);
    opened = database;
    refuseForeignDatabase(
      await retryWhileBusy(() => database.prepare("select name from sqlite_master where type = 'table'").all()),
    );
    await retryWhileBusy(() =>
      database.exec('pragma journal_mode = wal; pragma synchronous = normal; pragma foreign_keys = on'),
    );
    return database;
  } catch (cause) {
    opened?.close();
    throw new StoreError('OPEN_FAILED', `Could not open the SQLite file ${path}: ${errorText(cause)}`, { cause });
  }
}

/** Only the owner can read a new file and the files that SQLite creates beside it. An existing file is unchanged. */
async function createFile(path: string): Promise<void> {
  await makeFolder(dirname(path), { mode: 0o700 });
  // opening a pipe would wait for its other end
  const existing = await stat(path).catch(() => undefined);
  if (existing && !existing.isFile()) throw new Error('it is not a regular file');
  const handle = await open(path, 'a', 0o600);
  await handle.close();
}

/** Protects the data of other programs from a wrong path. */
function refuseForeignDatabase(tables: readonly Record<string, unknown>[]): void {
  if (tables.length > 0 && !tables.some(({ name }) => name === MIGRATIONS_TABLE))
    throw new Error('it belongs to another program; use another file');
}

class SqliteDriver implements Driver {
  readonly #database: DatabaseSync;
  readonly #connection: SqliteConnection;

  constructor(database: DatabaseSync) {
    this.#database = database;
    this.#connection = new SqliteConnection(database);
  }

  async init(): Promise<void> {}

  // the adapter reports one connection, so Kysely uses it for one query or transaction at a time
  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  // a transaction that starts with a read could not wait for another writer
  async beginTransaction(): Promise<void> {
    await retryWhileBusy(() => this.#database.exec('begin immediate'));
  }

  async commitTransaction(): Promise<void> {
    await retryWhileBusy(() => this.#database.exec('commit'));
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
    return retryWhileBusy(() => {
      const { statement, reads } = this.#prepared(sql);
      const values = parameters.map(inputValue);
      // the query determines the row type
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
    this.#statements.set(sql, prepared);
    dropOldest(this.#statements, MAX_STATEMENTS);
    return prepared;
  }
}

async function retryWhileBusy<Value>(work: () => Value): Promise<Value> {
  const deadline = Date.now() + BUSY_MS;
  for (let delayMs = FIRST_RETRY_MS; ; delayMs = Math.min(delayMs * 2, 50)) {
    try {
      return work();
    } catch (cause) {
      if (!isBusy(cause)) throw cause;
      if (Date.now() > deadline)
        throw new StoreError('BUSY', `Another writer has held the SQLite file for ${BUSY_MS / 1_000} seconds`, {
          cause,
        });
      await sleep(delayMs);
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
  throw new TypeError(`SQLite cannot store a value of type ${typeof value}; convert it to a string or a number`);
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
