// Runs in PostgreSQL.
import { afterAll, beforeAll } from 'vitest';
import { startPostgres, type TestPostgres } from '../../store/test/postgres.ts';
import { testRuns } from './behaviour.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

testRuns(() => postgres.createDatabase());
