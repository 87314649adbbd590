// Lets the time of schedules come, as the clock would.
import { execute, type Location } from './old-database.ts';

export async function makeDue(database: Location, ageMs = 0): Promise<void> {
  await execute(database, `update pocket_run_schedules set next_at = ${Date.now() - ageMs}`);
}

/** As if the process had died after it asked, before it noted that the run has ended. */
export async function repeatRuns(database: Location): Promise<void> {
  await execute(database, "delete from pocket_run_journal where type = 'finished'");
  await execute(database, "update pocket_runs set status = 'queued', length = 1");
}
