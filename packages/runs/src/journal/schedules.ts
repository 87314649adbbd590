// Schedules: runs that start at certain times. One statement moves a schedule to its next time, so of several processes
// that notice it, one starts the run.
import { configError, errorText } from '@pocket-agent/kit';
import { beginsWith, type Database, inTransaction, type RunStore } from './journal.ts';
import type { ScheduleOptions } from './options.ts';
import type { ScheduleTable } from './schema.ts';
import { insertRuns, newRun } from './start-run.ts';

/** A schedule, and when its next run starts. */
export interface Schedule extends ScheduleOptions {
  name: string;
  nextAt: string;
}

const DUE_AT_ONCE = 100;
/** A run that starts later than this was missed. */
const ON_TIME_MS = 60_000;

export class Schedules {
  readonly #store: RunStore;

  constructor(store: RunStore) {
    this.#store = store;
  }

  /** Adds a schedule, or replaces the one of this name. An unchanged one keeps its next time. */
  async set(name: string, options: ScheduleOptions): Promise<void> {
    const { cron, timeZone = 'UTC', agent, input, caller, missed = 'skip' } = options;
    const row = { name, agent, caller: caller ?? null, input: newRun({ id: name, agent, input }).input, cron };
    const next_at = await nextTime(cron, timeZone, Date.now());
    const values: ScheduleTable = { ...row, time_zone: timeZone, missed, next_at };
    await inTransaction(this.#store.db, async (db) => {
      const known = await db
        .selectFrom('pocket_run_schedules')
        .select(['cron', 'time_zone', 'next_at'])
        .where('name', '=', name)
        .executeTakeFirst();
      if (known?.cron === cron && known.time_zone === timeZone) values.next_at = known.next_at;
      await db
        .insertInto('pocket_run_schedules')
        .values(values)
        .onConflict((conflict) => conflict.column('name').doUpdateSet(values))
        .execute();
    });
  }

  /** False if no schedule has this name. */
  async remove(name: string): Promise<boolean> {
    const deleted = this.#store.db.deleteFrom('pocket_run_schedules').where('name', '=', name);
    return (await deleted.executeTakeFirstOrThrow()).numDeletedRows === 1n;
  }

  async list(prefix = ''): Promise<Schedule[]> {
    const rows = await this.#store.db
      .selectFrom('pocket_run_schedules')
      .selectAll()
      .where(beginsWith('name', prefix))
      .orderBy('name')
      .execute();
    return rows.map(({ name, agent, caller, input, cron, time_zone, missed, next_at }) => ({
      name,
      cron,
      timeZone: time_zone,
      agent,
      input: JSON.parse(input),
      ...(caller === null ? {} : { caller }),
      missed,
      nextAt: new Date(next_at).toISOString(),
    }));
  }

  /** Starts what is due, and returns the number of runs. */
  async startDue(now: number): Promise<number> {
    const due = await this.#store.db
      .selectFrom('pocket_run_schedules')
      .selectAll()
      .where('next_at', '<=', now)
      .limit(DUE_AT_ONCE)
      .execute();
    let started = 0;
    for (const schedule of due)
      started += (await inTransaction(this.#store.db, (db) => this.#start(db, schedule, now))) ? 1 : 0;
    return started;
  }

  async #start(db: Database, schedule: ScheduleTable, now: number): Promise<boolean> {
    const { name, agent, caller, input, cron, time_zone, missed, next_at } = schedule;
    const { numUpdatedRows } = await db
      .updateTable('pocket_run_schedules')
      .set({ next_at: await nextTime(cron, time_zone, now) })
      .where('name', '=', name)
      .where('next_at', '=', next_at)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows !== 1n) return false; // another process was first
    if (missed === 'skip' && now - next_at > ON_TIME_MS) return false;
    const id = `${name}@${new Date(next_at).toISOString()}`;
    const [exists] = await insertRuns(this.#store, db, [
      { row: { ...newRun({ id, agent, input: '' }), caller, input } },
    ]);
    // by a program, or before the schedule was replaced on a machine whose clock is behind
    return exists === undefined;
  }
}

/** The first time after `after`. */
async function nextTime(cron: string, timeZone: string, after: number): Promise<number> {
  const { CronExpressionParser } = await import('cron-parser'); // most programs have no schedules
  try {
    return CronExpressionParser.parse(cron, { tz: timeZone, currentDate: new Date(after) })
      .next()
      .getTime();
  } catch (error) {
    throw configError(`The schedule "${cron}" in ${timeZone} cannot be used: ${errorText(error)}`, error);
  }
}
