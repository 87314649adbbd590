// Random runs with random kills, from seeds, in SQLite files. SEEDS=100 makes 3,000 runs; SEED=7 repeats one seed.
import { test } from 'vitest';
import { newFile } from '../agents.ts';
import { expectRunsToEnd, seedsOf } from './seeded-runs.ts';

/** Fewer than the attempts of a run: one that gets no further in any process is given up. */
const MAX_KILLS = 4;

test.each(seedsOf(6))('seed %i: every run ends once, and every call that has to be made once is', async (seed) => {
  await expectRunsToEnd(`sqlite:${newFile()}`, { seed, maxKills: MAX_KILLS });
});
