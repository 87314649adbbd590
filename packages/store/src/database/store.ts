// Opens a database: a SQLite file, or PostgreSQL by URL. Migrations run before it is returned.
import { errorText } from '@pocket-agent/kit';
import { Kysely, type KyselyPlugin } from 'kysely';
import { type MigrationSet, migrate } from './migrate.ts';
import { postgresDialect } from './postgres.ts';
import { sqliteDialect } from './sqlite.ts';
import { StoreError } from './store-error.ts';

/** Which database to open, and the migrations that its tables need. */
export interface StoreOptions extends MigrationSet {
  /** `postgres://…`, which several processes may share. */
  url?: string | undefined;
  /** A SQLite file, created with its folder if missing; `:memory:` for a temporary database. */
  file?: string | undefined;
  /** Tables of other packages that these migrations need, such as `conversationTables`. They are created first. */
  needs?: readonly MigrationSet[];
}

/** An open database whose tables are up to date. */
export interface Store<Schema> {
  db: Kysely<Schema>;
  kind: 'sqlite' | 'postgres';
  close(): Promise<void>;
}

/** `url` takes precedence over `file`. Integers are returned as numbers, so keep them below 2^53. */
export async function openStore<Schema>(options: StoreOptions): Promise<Store<Schema>> {
  const { url, file, name, migrations, needs = [] } = options;
  if (url !== undefined && !/^postgres(ql)?:\/\//.test(url))
    throw new StoreError('CONFIG_INVALID', 'The database URL must start with postgres://; for SQLite set a file');
  if (url === undefined && !file)
    throw new StoreError('CONFIG_INVALID', `The store "${name}" needs a file, or the URL of a PostgreSQL database`);
  const kind = url === undefined ? 'sqlite' : 'postgres';
  const dialect = url === undefined ? await sqliteDialect(file ?? '') : await postgresDialect(url);
  const closedCheck = new ClosedCheck(name);
  const db = new Kysely<unknown>({ dialect, plugins: [closedCheck] });
  try {
    for (const set of [...needs, { name, migrations }]) await migrate(db, { kind, ...set });
  } catch (error) {
    await db.destroy().catch(() => {}); // report the first error
    if (error instanceof StoreError) throw error;
    throw new StoreError('OPEN_FAILED', `Could not open the database of "${name}": ${errorText(error)}`, {
      cause: error,
    });
  }
  // the migrations created the tables of the schema
  const close = () => {
    closedCheck.isClosed = true;
    return db.destroy();
  };
  return { db: db as Kysely<Schema>, kind, close };
}

/** Refuses queries after the database was closed, with an error that names the store. */
class ClosedCheck implements KyselyPlugin {
  isClosed = false;
  readonly #name: string;

  constructor(name: string) {
    this.#name = name;
  }

  transformQuery({ node }: Parameters<KyselyPlugin['transformQuery']>[0]) {
    if (this.isClosed) throw new StoreError('CLOSED', `The database of "${this.#name}" was closed; open it again.`);
    return node;
  }

  async transformResult({ result }: Parameters<KyselyPlugin['transformResult']>[0]) {
    return result;
  }
}
