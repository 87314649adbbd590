// Migration on PostgreSQL, and processes that are killed before each statement of a migration.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { execute, writeOldDatabase } from '../support/old-database.ts';
import { temporaryFolder } from '../support/start-bot.ts';
import { expectMigrated, expectOld, openElsewhere, testMigration } from './migration-behaviour.ts';

let postgres: TestPostgres;

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

afterAll(async () => {
  await postgres.stop();
});

testMigration(async () => ({ url: await postgres.createDatabase() }));

test.each(['SQLite', 'PostgreSQL'])(
  'a process killed before any statement leaves the old or the new database on %s',
  async (kind) => {
    const folder = await temporaryFolder();
    let outcomes = '';
    for (let diesAt = 1; ; diesAt++) {
      const database =
        kind === 'SQLite' ? { file: join(folder, `${diesAt}.db`) } : { url: await postgres.createDatabase() };
      await writeOldDatabase(database);
      const code = await openElsewhere({ database, diesAt });
      const applied = await execute(database, "select name from pocket_migrations where store = 'discord'");
      const isNew = applied.some(({ name }) => name === 'conversations');
      await (isNew ? expectMigrated(database) : expectOld(database));
      outcomes += isNew ? 'n' : 'o';
      if (code === 0) break; // it had fewer statements
      expect(diesAt).toBeLessThan(100);
    }
    expect(outcomes).toMatch(/^o+n+$/);
  },
  600_000,
);
