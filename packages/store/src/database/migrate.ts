// Runs migrations: forward only, each once, in one transaction, safe when several processes start together.
import { errorText } from '@pocket-agent/kit';
import { type Kysely, type RawBuilder, sql } from 'kysely';
import { StoreError } from './store-error.ts';

/** One change of the tables; it runs once in each database. */
export interface Migration {
  name: string;
  /** Runs in the transaction of all migrations, which is also `db`. */
  up(run: RunStatement, kind: 'sqlite' | 'postgres', db: Kysely<unknown>): Promise<void>;
}

/** All tables of a program or a package. */
export interface MigrationSet {
  /** Identifies the tables; several sets may share a database. */
  name: string;
  /** In order. Only append to this list. */
  migrations: readonly Migration[];
}

/** Runs one statement; Kysely's `sql` passes values. */
export type RunStatement = (statement: string | RawBuilder<unknown>) => Promise<readonly unknown[]>;

interface MigrationOptions extends MigrationSet {
  kind: 'sqlite' | 'postgres';
}

/** The key of the PostgreSQL advisory lock; any number that other programs are unlikely to use. */
const LOCK_KEY = 7_326_114_009;

/** How long to wait on SQLite while another process migrates a large database. */
const MIGRATION_WAIT_MS = 300_000;

export async function migrate(db: Kysely<unknown>, options: MigrationOptions): Promise<void> {
  // without the table this fails; other errors occur again below
  const applied = await appliedNames(db, options.name).catch(() => undefined);
  if (applied && pendingOf(applied, options).length === 0) return; // needs no lock
  const deadline = Date.now() + MIGRATION_WAIT_MS;
  for (;;) {
    try {
      await db.transaction().execute((transaction) => migrateIn(transaction, options));
      return;
    } catch (error) {
      const isBusy = error instanceof StoreError && error.code === 'BUSY';
      if (!isBusy || Date.now() > deadline) throw error;
    }
  }
}

async function migrateIn(transaction: Kysely<unknown>, options: MigrationOptions): Promise<void> {
  const { kind, name } = options;
  const run: RunStatement = async (statement) => {
    const query = typeof statement === 'string' ? sql.raw(statement) : statement;
    return (await query.execute(transaction)).rows;
  };
  // on SQLite, beginning the transaction takes the write lock
  if (kind === 'postgres') {
    await run('set local statement_timeout = 0');
    await run(`select pg_advisory_xact_lock(${LOCK_KEY})`);
  }
  await run(`create table if not exists pocket_migrations (
    store text not null, number integer not null, name text not null, applied_at bigint not null,
    primary key (store, number))`);
  const applied = await appliedNames(transaction, name);
  for (const [index, migration] of pendingOf(applied, options).entries()) {
    await migration.up(run, kind, transaction).catch((cause: unknown) => {
      const message = `The migration "${migration.name}" of "${name}" failed: ${errorText(cause)}`;
      throw new StoreError('MIGRATION_FAILED', message, { cause });
    });
    await run(sql`insert into pocket_migrations (store, number, name, applied_at)
      values (${name}, ${applied.length + index}, ${migration.name}, ${Date.now()})`);
  }
}

async function appliedNames(db: Kysely<unknown>, store: string): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from pocket_migrations where store = ${store} order by number`.execute(db);
  return rows.map(({ name }) => name);
}

function pendingOf(applied: readonly string[], { name, migrations }: MigrationSet): readonly Migration[] {
  const unknown = applied.find((each, index) => migrations[index]?.name !== each);
  if (unknown !== undefined)
    throw new StoreError(
      'NEWER_DATABASE',
      `The database of "${name}" has the migration "${unknown}", which this version does not know, ` +
        'so a newer version created it. Update this program, or use another database.',
    );
  return migrations.slice(applied.length);
}
