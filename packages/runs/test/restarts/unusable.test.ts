// A database that cannot be used for a moment.
import { DatabaseSync } from 'node:sqlite';
import { expect, onTestFinished, test } from 'vitest';
import { openRuns } from '../../src/index.ts';
import { agentOf, newFile, silent } from '../agents.ts';

/** Runs in a file that refuses each message, as on a full disk. */
async function onFullDisk() {
  const file = newFile();
  const failures: string[] = [];
  const logger = { ...silent, error: (text: string) => void failures.push(text) };
  const runs = await openRuns({ url: `sqlite:${file}`, agents: { a: () => agentOf(['Hello']) }, logger });
  onTestFinished(() => runs.close());
  const other = new DatabaseSync(file, { timeout: 10_000 });
  onTestFinished(() => other.close());
  other.exec(`create trigger full before insert on pocket_run_journal when new.type = 'message'
    begin select raise(abort, 'the disk is full'); end`);
  return { runs, failures, makeRoom: () => other.exec('drop trigger full') };
}

test('a run goes on when the database can be used again', async () => {
  const { runs, failures, makeRoom } = await onFullDisk();
  const { id } = await runs.start('a', 'Hi');
  await expect.poll(() => failures.length).toBeGreaterThan(1);
  expect(failures[0]).toContain('the disk is full');
  makeRoom();
  expect(await runs.result(id)).toBe('Hello');
});

test('a run that cannot be saved again and again fails, because each attempt may cost money', async () => {
  const { runs, failures } = await onFullDisk();
  const { id } = await runs.start('a', 'Hi');
  await expect(runs.result(id)).rejects.toThrow('could not use the database, 5 times at one step');
  expect(failures).toHaveLength(5);
});
