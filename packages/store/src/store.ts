// Opens a database: a SQLite file, or PostgreSQL by URL. Migrations run before it is returned.
import { errorText } from '@pocket-agent/kit';
import { Kysely } from 'kysely';
import { type Migration, migrate } from './migrate.ts';
import { postgresDialect } from './postgres.ts';
import { sqliteDialect } from './sqlite.ts';
import { StoreError } from './store-error.ts';

export interface StoreOptions {
  /** `postgres://…`, which several processes may share. */
  url?: string | undefined;
  /** A SQLite file, created with its folder if missing; `:memory:` for a temporary database. */
  file?: string | undefined;
  /** Identifies the tables; several stores may share a database. */
  name: string;
  /** In order. Only append to this list. */
  migrations: readonly Migration[];
}

export interface Store<Schema> {
  db: Kysely<Schema>;
  kind: 'sqlite' | 'postgres';
  close(): Promise<void>;
}

/** `url` takes precedence over `file`. Integers are returned as numbers, so keep them below 2^53. */
export async function openStore<Schema>(options: StoreOptions): Promise<Store<Schema>> {
  const { url, file, name, migrations } = options;
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    throw new StoreError('CONFIG_INVALID', 'The database URL must start with postgres://; for SQLite set a file');
  if (url === undefined && !file)
    throw new StoreError('CONFIG_INVALID', `The store "${name}" needs a file, or the URL of a PostgreSQL database`);
  const kind = url === undefined ? 'sqlite' : 'postgres';
  const dialect = url === undefined ? await sqliteDialect(file ?? '') : await postgresDialect(url);
  const db = new Kysely<Schema>({ dialect });
  try {
    await migrate(db, { kind, name, migrations });
  } catch (error) {
    await db.destroy().catch(() => {}); // report the first error
    if (error instanceof StoreError) throw error;
    throw new StoreError('OPEN_FAILED', `Could not open the database of "${name}": ${errorText(error)}`, {
      cause: error,
    });
  }
  return { db, kind, close: () => db.destroy() };
}
