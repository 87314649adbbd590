// PostgreSQL with `pg`, which is loaded only if it is used.
import { PostgresDialect } from 'kysely';
import { StoreError } from './store-error.ts';

const MAX_CONNECTIONS = 10;
const CONNECT_MS = 10_000;
const STATEMENT_MS = 30_000;
const IDLE_MS = 30_000;
const INT8 = 20;
const NUMERIC = 1700;

export async function postgresDialect(url: string): Promise<PostgresDialect> {
  const { default: pg } = await loadPg();
  const pool = new pg.Pool({
    connectionString: url,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    idleTimeoutMillis: IDLE_MS,
    statement_timeout: STATEMENT_MS,
    idle_in_transaction_session_timeout: STATEMENT_MS,
    keepAlive: true,
    allowExitOnIdle: true,
    types: {
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === INT8 || oid === NUMERIC ? Number : pg.types.getTypeParser(oid, format),
    },
  });
  // the pool drops an idle connection that broke; the next query opens a new one
  pool.on('error', () => {});
  // a connection that breaks between two statements fails at the next statement
  pool.on('connect', (client) => client.on('error', () => {}));
  return new PostgresDialect({ pool });
}

async function loadPg(): Promise<typeof import('pg')> {
  try {
    return await import('pg');
  } catch (cause) {
    throw new StoreError('PACKAGE_MISSING', 'A PostgreSQL database needs the package pg: npm i pg', { cause });
  }
}
