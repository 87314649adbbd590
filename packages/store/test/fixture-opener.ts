// A program for tests: opens a store in its own process and adds rows.
import { openStore } from '../src/index.ts';
import { type NotesSchema, notesMigrations } from './notes.ts';

const options: { file?: string; url?: string } = JSON.parse(process.argv[2] ?? '{}');
const store = await openStore<NotesSchema>({ ...options, name: 'notes', migrations: notesMigrations() });
for (let count = 0; count < 20; count++)
  await store.db.transaction().execute(async (transaction) => {
    const { total } = await transaction
      .selectFrom('notes')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow();
    await transaction
      .insertInto('notes')
      .values({ text: `${process.pid}-${total}` })
      .execute();
  });
await store.close();
