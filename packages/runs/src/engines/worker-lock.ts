// One process at a time advances the runs of a SQLite file. The operating system releases its lock when it ends, however it
// ends: no lease has to run out.
import { open } from 'node:fs/promises';
import { isRecord } from '@pocket-agent/kit';

const SQLITE_BUSY = 5;

/** Returns a function that releases the lock; undefined if another process has it. */
export async function tryWorkerLock(file: string): Promise<(() => void) | undefined> {
  if (file === ':memory:') return () => {};
  const path = `${file}.worker`;
  const { DatabaseSync } = await import('node:sqlite');
  // only if it is new: closing a file releases the locks that this process has on it
  await open(path, 'ax', 0o600).then(
    (handle) => handle.close(),
    (error) => {
      if (error.code !== 'EEXIST') throw error;
    },
  );
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('begin exclusive');
    return () => database.close();
  } catch (error) {
    database.close();
    if (isRecord(error) && (Number(error.errcode) & 0xff) === SQLITE_BUSY) return undefined;
    throw error;
  }
}
