// Times of schedules at which no process ran.
import { openStore } from '@pocket-agent/store';
import { expect, onTestFinished, test } from 'vitest';
import type { RunStore } from '../src/journal/journal.ts';
import { Schedules } from '../src/journal/schedules.ts';
import { type RunsSchema, runTables } from '../src/journal/schema.ts';
import { newFile } from './agents.ts';

const HOUR_MS = 3_600_000;

async function openSchedules(): Promise<{ store: RunStore; schedules: Schedules }> {
  const opened = await openStore<RunsSchema>({ file: newFile(), ...runTables });
  onTestFinished(opened.close);
  const store: RunStore = { ...opened, queued: async () => {} };
  return { store, schedules: new Schedules(store) };
}

const hourly = { cron: '0 * * * *', agent: 'a', input: 'Go' };

test('missed times are skipped, or run once, and later ones run on time', async () => {
  const { store, schedules } = await openSchedules();
  await schedules.set('skip', hourly);
  await schedules.set('once', { ...hourly, missed: 'once' });
  const [{ nextAt = '' } = {}] = await schedules.list();
  const first = Date.parse(nextAt);
  expect(await schedules.startDue(first - 1)).toBe(0);
  // nothing ran for five hours and a half
  expect(await schedules.startDue(first + 5.5 * HOUR_MS)).toBe(1);
  expect((await store.db.selectFrom('pocket_runs').select('id').execute())[0]?.id).toBe(`once@${nextAt}`);
  expect(await schedules.startDue(first + 5.6 * HOUR_MS)).toBe(0);
  expect((await schedules.list()).map((schedule) => Date.parse(schedule.nextAt))).toEqual(
    [first, first].map((time) => time + 6 * HOUR_MS),
  );
  // a changed schedule has a new next time, an unchanged one keeps it
  await schedules.set('skip', hourly);
  expect((await schedules.list()).at(-1)?.nextAt).toBe(new Date(first + 6 * HOUR_MS).toISOString());
  expect(await schedules.startDue(first + 6 * HOUR_MS + 1_000)).toBe(2);
});

test('a time whose run exists starts nothing, and the schedule goes on', async () => {
  const { store, schedules } = await openSchedules();
  await schedules.set('report', hourly);
  const [{ nextAt = '' } = {}] = await schedules.list();
  const first = Date.parse(nextAt);
  expect(await schedules.startDue(first)).toBe(1);
  // replaced by a machine whose clock is behind
  await schedules.set('report', { ...hourly, input: 'Go on' });
  await store.db.updateTable('pocket_run_schedules').set({ next_at: first }).execute();
  expect(await schedules.startDue(first)).toBe(0);
  expect((await schedules.list()).map((schedule) => Date.parse(schedule.nextAt))).toEqual([first + HOUR_MS]);
});

test.each([
  ['summer', '2027-03-27', ['27T01:30', '28T01:30', '29T00:30']],
  ['winter', '2027-10-30', ['30T00:30', '31T00:30', '01T01:30']],
])('a daily time runs once a day also when %s time begins', async (_season, first, times) => {
  const { store, schedules } = await openSchedules();
  await schedules.set('daily', { cron: '30 2 * * *', timeZone: 'Europe/Berlin', agent: 'a', input: 'Go' });
  const begin = Date.parse(first);
  await store.db.updateTable('pocket_run_schedules').set({ next_at: begin }).execute();
  for (let at = begin; at < begin + 72 * HOUR_MS; at += HOUR_MS / 2) await schedules.startDue(at);
  const runs = await store.db.selectFrom('pocket_runs').select('id').orderBy('id').execute();
  expect(runs.slice(1).map(({ id }) => id.slice('daily@2027-03-'.length, -':00.000Z'.length))).toEqual(times);
});
