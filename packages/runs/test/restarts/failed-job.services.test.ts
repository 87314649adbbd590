// A process takes several runs from the queue of PostgreSQL at once; one of them fails there and is taken again.
import { setTimeout } from 'node:timers/promises';
import pg from 'pg';
import { tool } from 'pocket-agent';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { openRuns } from '../../src/index.ts';
import { agentOf, silent } from '../agents.ts';

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

test('a run that was taken again keeps its job when the runs end that were taken with it before', async () => {
  const url = await postgres.createDatabase();
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  onTestFinished(() => database.end());
  /** Calls of the tool that wait, by the run. */
  const calls: Record<string, PromiseWithResolvers<void>[]> = { failing: [], other: [] };
  const wait = tool({
    name: 'wait',
    description: 'Waits',
    annotations: { readOnlyHint: true },
    run: async (_args: object, { caller = '' }) => {
      const call = Promise.withResolvers<void>();
      calls[caller]?.push(call);
      await call.promise;
      return 'waited';
    },
  });
  const agents = { a: () => agentOf([{ toolCalls: [{ name: 'wait' }] }, 'Done'], { tools: [wait] }) };
  const starter = await openRuns({ url, logger: silent });
  onTestFinished(() => starter.close());
  for (const id of ['failing', 'other']) await starter.start('a', 'Wait', { id, caller: id });
  const runs = await openRuns({ url, agents, logger: silent });
  onTestFinished(() => runs.close({ graceMs: 0 }));
  await expect.poll(() => [calls.failing?.length, calls.other?.length]).toEqual([1, 1]);
  await database.query(`create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'no room'; end $$`);
  await database.query(`create trigger refuse before insert on pocket_run_journal
    for each row when (new.run = 'failing') execute function refuse()`);
  calls.failing?.[0]?.resolve();
  await expect.poll(async () => (await runs.get('failing'))?.status).toBe('queued');
  await database.query('drop trigger refuse on pocket_run_journal');
  await expect.poll(() => calls.failing?.length).toBe(2);
  calls.other?.[0]?.resolve();
  const jobsOf = async (run: string): Promise<string[]> => {
    const select = `select state::text from pocket_runs_queue.job where data->>'run' = $1 order by state`;
    const { rows } = await database.query<{ state: string }>(select, [run]);
    return rows.map(({ state }) => state);
  };
  await expect.poll(() => jobsOf('other')).toEqual(['completed']);
  await setTimeout(500); // pg-boss ends what it took together
  expect(await jobsOf('failing')).toContain('active');
  calls.failing?.[1]?.resolve();
  expect(await runs.result('failing')).toBe('Done');
});
