// The tool folder `notes`: keeps notes in a SQLite file of the user.
import { chmodSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { makeFolderSync } from '@pocket-agent/kit';
import { dataFolder } from '@pocket-agent/kit/private-files';
import type { ToolContext } from '../../index.ts';

interface Note {
  id: number;
  title: string;
  text: string;
  tags: string[];
}

const EXCERPT_LENGTH = 200;

const schema = `
  CREATE TABLE IF NOT EXISTS notes (
    id INTEGER PRIMARY KEY, title TEXT NOT NULL, text TEXT NOT NULL, tags TEXT NOT NULL, changed TEXT NOT NULL
  );
  CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(title, text, tags, content=notes, content_rowid=id, tokenize='porter unicode61');
  CREATE TRIGGER IF NOT EXISTS added AFTER INSERT ON notes BEGIN
    INSERT INTO words(rowid, title, text, tags) VALUES (new.id, new.title, new.text, new.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS gone AFTER DELETE ON notes BEGIN
    INSERT INTO words(words, rowid, title, text, tags) VALUES ('delete', old.id, old.title, old.text, old.tags);
  END;
  CREATE TRIGGER IF NOT EXISTS changed AFTER UPDATE ON notes BEGIN
    INSERT INTO words(words, rowid, title, text, tags) VALUES ('delete', old.id, old.title, old.text, old.tags);
    INSERT INTO words(rowid, title, text, tags) VALUES (new.id, new.title, new.text, new.tags);
  END;`;

export class Tools {
  readonly #file: string;
  #opened: DatabaseSync | undefined;

  constructor({ env }: ToolContext) {
    this.#file = env.POCKET_AGENT_NOTES || join(dataFolder(), 'notes.db');
  }

  async save_note({ title, text, tags }: Omit<Note, 'id'>) {
    const { lastInsertRowid } = this.#database
      .prepare('INSERT INTO notes (title, text, tags, changed) VALUES (?, ?, ?, ?)')
      .run(title, text, JSON.stringify(tags), now());
    return { id: Number(lastInsertRowid) };
  }

  async find_notes({ words, tag, limit }: { words: string; tag?: string; limit: number }) {
    const terms = words.match(/[\p{L}\p{N}]+/gu) ?? [];
    const match = terms.map((term) => `"${term}"*`).join(' ');
    const [from, order] = match
      ? ['words JOIN notes ON notes.id = words.rowid WHERE words MATCH :match AND', 'bm25(words, 4, 1, 2)']
      : ['notes WHERE', 'changed DESC, id DESC'];
    const rows = this.#database
      .prepare(
        `SELECT notes.id, notes.title, notes.tags, substr(notes.text, 1, ${EXCERPT_LENGTH}) AS excerpt, notes.changed FROM ${from}
         (:tag IS NULL OR EXISTS (SELECT 1 FROM json_each(notes.tags) WHERE value = :tag)) ORDER BY ${order} LIMIT :limit`,
      )
      .all({ ...(match ? { match } : {}), tag: tag ?? null, limit });
    return rows.map((row) => ({ ...row, tags: JSON.parse(String(row.tags)) }));
  }

  async read_note({ id }: { id: number }) {
    const row = this.#database.prepare('SELECT id, title, text, tags, changed FROM notes WHERE id = ?').get(id);
    if (!row) throw missing(id);
    return { ...row, tags: JSON.parse(String(row.tags)) };
  }

  async change_note({ id, title, text, tags }: Pick<Note, 'id'> & Partial<Note>) {
    const { changes } = this.#database
      .prepare(
        'UPDATE notes SET title = coalesce(?, title), text = coalesce(?, text), tags = coalesce(?, tags), changed = ? WHERE id = ?',
      )
      .run(title ?? null, text ?? null, tags ? JSON.stringify(tags) : null, now(), id);
    if (changes === 0) throw missing(id);
    return this.read_note({ id });
  }

  async delete_note({ id }: { id: number }) {
    const { changes } = this.#database.prepare('DELETE FROM notes WHERE id = ?').run(id);
    if (changes === 0) throw missing(id);
    return `Deleted note ${id}.`;
  }

  close(): void {
    this.#opened?.close();
    this.#opened = undefined;
  }

  /** Opens the file on first use, so that listing the tools creates no file. */
  get #database(): DatabaseSync {
    if (this.#opened) return this.#opened;
    makeFolderSync(dirname(this.#file), { mode: 0o700 });
    const database = new DatabaseSync(this.#file, { timeout: 5_000 });
    chmodSync(this.#file, 0o600);
    database.exec(`PRAGMA journal_mode = WAL; ${schema}`);
    this.#opened = database;
    return database;
  }
}

function now(): string {
  return new Date().toISOString();
}

function missing(id: number): Error {
  return new Error(`There is no note ${id}; use find_notes to list the notes.`);
}
