// One way to open a database: a SQLite file by default, PostgreSQL by URL. Migrations run before it is handed out.
import { Kysely } from 'kysely';
import { type Migration, migrate } from './migrate.ts';
import { postgresDialect } from './postgres.ts';
import { sqliteDialect } from './sqlite.ts';
import { messageOf, StoreError } from './store-error.ts';

export interface StoreOptions {
  /** `postgres://…`; several processes may share it. */
  url?: string | undefined;
  /** A SQLite file, made with its folder when it is not there; `:memory:` is forgotten at the end. */
  file?: string | undefined;
  /** Whose tables these are; several stores may live in one database. */
  name: string;
  /** In order, and only ever added to at the end. */
  migrations: readonly Migration[];
}

export interface Store<Schema> {
  db: Kysely<Schema>;
  kind: 'sqlite' | 'postgres';
  close(): Promise<void>;
}

/** `url` wins over `file`. In both databases integers come as numbers, so keep them below 2^53. */
export async function openStore<Schema>(options: StoreOptions): Promise<Store<Schema>> {
  const { url, file, name, migrations } = options;
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    throw new StoreError('CONFIG_INVALID', 'The database URL must begin with postgres://; for SQLite give a file');
  if (url === undefined && !file)
    throw new StoreError('CONFIG_INVALID', `The store "${name}" needs a file or the URL of a PostgreSQL database`);
  const kind = url === undefined ? 'sqlite' : 'postgres';
  const dialect = url === undefined ? await sqliteDialect(file ?? '') : await postgresDialect(url);
  const db = new Kysely<Schema>({ dialect });
  try {
    await migrate(db, { kind, name, migrations });
  } catch (error) {
    await db.destroy().catch(() => {}); // the first error says more
    if (error instanceof StoreError) throw error;
    throw new StoreError('OPEN_FAILED', `Could not open the database of "${name}": ${messageOf(error)}`, {
      cause: error,
    });
  }
  return { db, kind, close: () => db.destroy() };
}
