// Random runs with random kills, from seeds, in PostgreSQL. SEEDS=10 makes 300 runs; SEED=7 repeats one seed. After each kill the
// next process waits until the heartbeats of the killed one are missed, so the seeds run side by side.
import { afterAll, beforeAll, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { expectRunsToEnd, seedsOf } from './seeded-runs.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

const title = 'seed %i: every run ends once, and every call that has to be made once is';

test.concurrent.each(seedsOf(2))(title, { timeout: 900_000 }, async (seed) => {
  await expectRunsToEnd(await postgres.createDatabase(), { seed, maxKills: 3 });
});
