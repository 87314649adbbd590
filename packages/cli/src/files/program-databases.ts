// Finds SQLite files of the working folder in which programs keep conversations. Only their beginning is read: the folder may
// be untrusted.
import { open, readdir } from 'node:fs/promises';

const READ_BYTES = 65_536;
const MAX_FILES = 50;
const SQLITE = 'SQLite format 3\0';
const TABLE = 'pocket_conversations';

export async function programDatabases(): Promise<string[]> {
  const entries = await readdir('.', { withFileTypes: true }).catch(() => []); // without a readable folder there is nothing to find
  const files = new Set(entries.filter((entry) => entry.isFile()).map(({ name }) => name));
  const found = [...files]
    .filter((name) => /\.(?:sqlite3?|db)$/i.test(name))
    .sort()
    .slice(0, MAX_FILES)
    .map(async (name) => ((await hasConversations(name, files)) ? [name] : []));
  return (await Promise.all(found)).flat();
}

/** The tables of a database that is in use may be only in the file beside it. */
async function hasConversations(file: string, files: ReadonlySet<string>): Promise<boolean> {
  const beginning = await beginningOf(file);
  if (!beginning.startsWith(SQLITE)) return false;
  const log = `${file}-wal`;
  // a pipe of that name would never end
  return (files.has(log) ? beginning + (await beginningOf(log)) : beginning).includes(TABLE);
}

/** Empty if the file cannot be read. */
async function beginningOf(file: string): Promise<string> {
  try {
    await using handle = await open(file);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(READ_BYTES), 0, READ_BYTES, 0);
    return buffer.toString('latin1', 0, bytesRead);
  } catch {
    return '';
  }
}
