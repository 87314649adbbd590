// Stores on PostgreSQL: migrations, number types, and a server that restarts; and a slow migration on SQLite.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest';
import { openStore, type Store } from '../src/index.ts';
import { type NotesSchema, notesMigrations } from './notes.ts';
import { startPostgres, type TestPostgres } from './postgres.ts';

let postgres: TestPostgres;
const stores: Store<NotesSchema>[] = [];

beforeAll(async () => {
  postgres = await startPostgres();
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
});

afterAll(async () => {
  await postgres.stop();
});

async function open(url: string): Promise<Store<NotesSchema>> {
  const store = await openStore<NotesSchema>({ url, name: 'notes', migrations: notesMigrations() });
  stores.push(store);
  return store;
}

test('processes that start together on an empty database run every migration once', async () => {
  const url = await postgres.createDatabase();
  const program = fileURLToPath(new URL('fixture-opener.ts', import.meta.url));
  const children = Array.from({ length: 4 }, () =>
    spawn(process.execPath, ['-C', 'pocket-agent/source', program, JSON.stringify({ url })], { stdio: 'inherit' }),
  );
  const codes = await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code)));
  expect(codes).toEqual([0, 0, 0, 0]);
  const { db, kind } = await open(url);
  expect(kind).toBe('postgres');
  const { rows } = await sql`select count(*) as migrations from pocket_migrations`.execute(db);
  expect(rows).toEqual([{ migrations: 2 }]);
  expect(await db.selectFrom('notes').selectAll().execute()).toHaveLength(80);
});

test('a SQLite file that another process migrates for longer than other writes wait is opened afterwards', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'pocket-store-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = join(folder, 'notes.db');
  const migrations = notesMigrations();
  await (await openStore({ file, name: 'notes', migrations: migrations.slice(0, 1) })).close();
  const other = new DatabaseSync(file);
  other.exec('begin immediate');
  const opening = openStore<NotesSchema>({ file, name: 'notes', migrations });
  await sleep(11_000);
  other.exec("alter table notes add color text not null default 'red'");
  other.exec("insert into pocket_migrations values ('notes', 1, 'colors', 1); commit");
  other.close();
  stores.push(await opening);
});

test('returns integers as numbers, like SQLite', async () => {
  const { db } = await open(await postgres.createDatabase());
  await db.insertInto('notes').values({ text: 'a' }).execute();
  const { id } = await db.selectFrom('notes').select('id').executeTakeFirstOrThrow();
  expect(id).toBe(1);
});

test('reconnects after a restart of the server', async () => {
  const { db } = await open(await postgres.createDatabase());
  await db.insertInto('notes').values({ text: 'before' }).execute();
  await postgres.restart();
  await db.insertInto('notes').values({ text: 'after' }).execute();
  expect(await db.selectFrom('notes').select('text').execute()).toEqual([{ text: 'before' }, { text: 'after' }]);
});

test('a restart during a transaction fails only that transaction', async () => {
  const { db } = await open(await postgres.createDatabase());
  const cut = db.transaction().execute(async (transaction) => {
    await transaction.insertInto('notes').values({ text: 'half' }).execute();
    await postgres.restart();
    await transaction.insertInto('notes').values({ text: 'whole' }).execute();
  });
  await expect(cut).rejects.toThrow();
  await db.insertInto('notes').values({ text: 'after' }).execute();
  expect(await db.selectFrom('notes').select('text').execute()).toEqual([{ text: 'after' }]);
});

test('refuses a database of a newer version and a missing database, without showing the URL', async () => {
  const url = await postgres.createDatabase();
  await open(url);
  const older = openStore({ url, name: 'notes', migrations: [] });
  await expect(older).rejects.toMatchObject({ code: 'NEWER_DATABASE' });
  const missing = new URL(url);
  missing.pathname = '/nowhere';
  missing.password = 'hush';
  const error: unknown = await openStore({ url: missing.href, name: 'notes', migrations: [] }).catch((it) => it);
  expect(error).toMatchObject({ code: 'OPEN_FAILED' });
  expect(String(error)).not.toContain('hush');
});
