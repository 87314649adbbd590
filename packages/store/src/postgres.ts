// PostgreSQL through `pg`, which is only loaded when a URL asks for it.
import { PostgresDialect } from 'kysely';
import { StoreError } from './store-error.ts';

const MOST_CONNECTIONS = 10;
const CONNECT_MS = 10_000;
const STATEMENT_MS = 30_000;
const IDLE_MS = 30_000;
const INT8 = 20;
const NUMERIC = 1700;

export async function postgresDialect(url: string): Promise<PostgresDialect> {
  const { default: pg } = await loadPg();
  const pool = new pg.Pool({
    connectionString: url,
    max: MOST_CONNECTIONS,
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
  // the pool has already dropped a connection that broke while idle; the next query opens another
  pool.on('error', () => {});
  // one that breaks while lent out (between two statements of a transaction) tells so at its next statement
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
