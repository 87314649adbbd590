// A small schema for tests, with migrations that fail if they run twice.
import type { Generated } from 'kysely';
import type { Migration } from '../src/index.ts';

export interface NotesSchema {
  notes: { id: Generated<number>; text: string; color: Generated<string> };
}

export function notesMigrations(): Migration[] {
  return [
    {
      name: 'notes',
      up: async (run, kind) => {
        const id = kind === 'sqlite' ? 'integer primary key' : 'bigint generated always as identity primary key';
        await run(`create table notes (id ${id}, text text not null)`);
      },
    },
    { name: 'colors', up: async (run) => void (await run("alter table notes add color text not null default 'red'")) },
  ];
}
