// Stores on SQLite: files, transactions, migrations, and several processes on one file.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { sql } from 'kysely';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { type Migration, openStore, type Store, StoreError } from '../src/index.ts';
import { type NotesSchema, notesMigrations } from './notes.ts';

let folder: string;
const stores: Store<NotesSchema>[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'pocket-store-'));
});

afterEach(async () => {
  for (const store of stores.splice(0)) await store.close();
  await rm(folder, { recursive: true });
});

async function open(options: { file?: string; migrations?: Migration[] } = {}): Promise<Store<NotesSchema>> {
  const { file = join(folder, 'notes.db'), migrations = notesMigrations() } = options;
  const store = await openStore<NotesSchema>({ file, name: 'notes', migrations });
  stores.push(store);
  return store;
}

test('creates a file and its folder, readable only by the owner, and keeps data', async () => {
  const file = join(folder, 'deep', 'er', 'notes.db');
  const first = await open({ file });
  expect(first.kind).toBe('sqlite');
  const inserted = await first.db.insertInto('notes').values({ text: 'a' }).returning('id').executeTakeFirstOrThrow();
  const { mode } = await stat(file);
  expect(mode & 0o777).toBe(0o600);
  expect((await stat(`${file}-wal`)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, 'deep'))).mode & 0o777).toBe(0o700);
  const second = await open({ file });
  const notes = await second.db.selectFrom('notes').selectAll().execute();
  expect(notes).toEqual([{ id: inserted.id, text: 'a', color: 'red' }]);
});

test('refuses a file of another program and leaves it unchanged', async () => {
  const [text, foreign] = [join(folder, 'notes.txt'), join(folder, 'other.db')];
  await writeFile(text, 'hello\n', { mode: 0o644 });
  const other = new DatabaseSync(foreign);
  other.exec('create table t (a)');
  other.close();
  await chmod(foreign, 0o644);
  const before = await Promise.all([text, foreign].map((file) => readFile(file)));
  await expect(open({ file: text })).rejects.toThrow('file is not a database');
  await expect(open({ file: foreign })).rejects.toThrow('it belongs to another program; use another file');
  for (const [index, file] of [text, foreign].entries()) {
    expect((await stat(file)).mode & 0o777).toBe(0o644);
    expect(await readFile(file)).toEqual(before[index]);
  }
});

test('a statement returns the number of changed rows', async () => {
  const { db } = await open({ file: ':memory:' });
  await db
    .insertInto('notes')
    .values([{ text: 'a' }, { text: 'b' }])
    .execute();
  const { numUpdatedRows } = await db.updateTable('notes').set({ text: 'c' }).executeTakeFirstOrThrow();
  expect(numUpdatedRows).toBe(2n);
  await expect(
    db
      .insertInto('notes')
      .values({ text: Object('x') })
      .execute(),
  ).rejects.toThrow('value of type object');
});

test('concurrent transactions run one after the other, and a failed one is rolled back', async () => {
  const { db } = await open();
  const add = (text: string) =>
    db.transaction().execute(async (transaction) => {
      const { total } = await transaction
        .selectFrom('notes')
        .select(({ fn }) => fn.countAll<number>().as('total'))
        .executeTakeFirstOrThrow();
      await transaction
        .insertInto('notes')
        .values({ text: `${text}${total}` })
        .execute();
      if (text === 'bad') throw new Error('no');
    });
  const outcomes = await Promise.allSettled(['a', 'bad', 'b', 'bad', 'c'].map(add));
  expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected', 'fulfilled']);
  const notes = await db.selectFrom('notes').select('text').orderBy('id').execute();
  expect(notes.map(({ text }) => text)).toEqual(['a0', 'b1', 'c2']);
});

test('two stores of one process on one file wait for each other without blocking the event loop', async () => {
  const [one, two] = [await open(), await open()];
  let waiting: Promise<unknown> | undefined;
  await one.db.transaction().execute(async (transaction) => {
    await transaction.selectFrom('notes').selectAll().execute();
    waiting = two.db.insertInto('notes').values({ text: 'second' }).execute();
    await sleep(20); // if the event loop were blocked, this would end only after the other store gives up
    await transaction.insertInto('notes').values({ text: 'first' }).execute();
  });
  await waiting;
  const notes = await one.db.selectFrom('notes').select('text').orderBy('id').execute();
  expect(notes).toEqual([{ text: 'first' }, { text: 'second' }]);
});

test('a savepoint can be rolled back on its own', async () => {
  const { db } = await open();
  const outer = await db.startTransaction().execute();
  await outer.insertInto('notes').values({ text: 'kept' }).execute();
  const point = await outer.savepoint('half').execute();
  await point.insertInto('notes').values({ text: 'undone' }).execute();
  await point.rollbackToSavepoint('half').execute();
  await outer.commit().execute();
  expect(await db.selectFrom('notes').select('text').execute()).toEqual([{ text: 'kept' }]);
});

test('processes that start together run every migration once and lose no row', async () => {
  const file = join(folder, 'shared.db');
  const program = fileURLToPath(new URL('fixture-opener.ts', import.meta.url));
  const children = Array.from({ length: 3 }, () =>
    spawn(process.execPath, ['-C', 'pocket-agent/source', program, JSON.stringify({ file })], { stdio: 'inherit' }),
  );
  const codes = await Promise.all(children.map((child) => once(child, 'exit').then(([code]) => code)));
  expect(codes).toEqual([0, 0, 0]);
  const { db } = await open({ file });
  const applied = await sql`select name from pocket_migrations order by number`.execute(db);
  expect(applied.rows).toEqual([{ name: 'notes' }, { name: 'colors' }]);
  const notes = await db.selectFrom('notes').select('text').execute();
  expect(notes.map(({ text }) => Number(text.split('-')[1])).sort((a, b) => a - b)).toEqual([...Array(60).keys()]);
});

test('a store without pending migrations opens while another process writes', async () => {
  await open();
  const writer = new DatabaseSync(join(folder, 'notes.db'));
  writer.exec('begin immediate');
  const { db } = await open();
  expect(await db.selectFrom('notes').selectAll().execute()).toEqual([]);
  writer.close();
});

test('refuses a database of a newer version and says what to do', async () => {
  await open();
  const older = open({ migrations: notesMigrations().slice(0, 1) });
  await expect(older).rejects.toMatchObject({ code: 'NEWER_DATABASE', message: expect.stringContaining('"colors"') });
});

test('a failed migration leaves the database unchanged', async () => {
  const broken: Migration = { name: 'broken', up: async (run) => void (await run('create tabel x (y)')) };
  const failing = open({ migrations: [...notesMigrations(), broken] });
  await expect(failing).rejects.toMatchObject({
    code: 'MIGRATION_FAILED',
    message: expect.stringMatching(/"broken" of "notes".*tabel/),
  });
  const { db } = await open();
  expect(await db.selectFrom('notes').selectAll().execute()).toEqual([]);
});

test('refuses an invalid file, a missing location and an unsupported URL', async () => {
  const file = join(folder, 'text.db');
  await writeFile(file, 'this is not a database, but it is long enough to be taken for one'.repeat(20));
  await expect(open({ file })).rejects.toMatchObject({ code: 'OPEN_FAILED', message: expect.stringContaining(file) });
  // mkdir with `recursive` never returns for such a path
  const below = open({ file: '/proc/pocket/agent/chats.sqlite' });
  await expect(below).rejects.toMatchObject({ code: 'OPEN_FAILED', message: expect.stringContaining("mkdir '/proc") });
  for (const path of ['/dev/null', '/dev/zero'])
    await expect(open({ file: path })).rejects.toThrow(`${path}: it is not a regular file`);
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  await expect(open({ file: pipe })).rejects.toThrow('it is not a regular file');
  const nothing = openStore({ name: 'notes', migrations: [] });
  await expect(nothing).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
  const foreign = openStore({ name: 'notes', migrations: [], url: 'mysql://root:hush@db/x' });
  const error: unknown = await foreign.catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreError);
  expect(String(error)).not.toContain('hush');
});
