// A worker that was suspended, as a laptop that slept: another one has taken over its run when it resumes.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import { openRuns } from '../../src/index.ts';
import { eventsOf, silent } from '../agents.ts';

const program = fileURLToPath(new URL('../programs/suspended-program.ts', import.meta.url));
/** The heartbeats of a process must be missed for 15 seconds before its runs are taken over. */
const patience = { timeout: 240_000 };

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

async function startWorker(url: string, folder: string): Promise<ChildProcess> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify({ url, folder })];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'ignore'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child.stdout, 'data');
  return child;
}

test('a worker that resumes neither ends nor repeats what others have taken over', { timeout: 900_000 }, async () => {
  const url = await postgres.createDatabase();
  const folder = mkdtempSync(join(tmpdir(), 'suspended-'));
  const calls = () => (existsSync(`${folder}/calls`) ? readFileSync(`${folder}/calls`, 'utf8').trim().split('\n') : []);
  const mayEnd = (name: string) => writeFileSync(`${folder}/${name}-may-end`, '');
  const runs = await openRuns({ url, logger: silent });
  onTestFinished(() => runs.close());
  await runs.start('a', 'Pay', { id: 'r' });

  const first = await startWorker(url, folder);
  await expect.poll(calls, patience).toEqual([`pay ${first.pid}`]);
  first.kill('SIGSTOP');
  const second = await startWorker(url, folder);
  await expect.poll(calls, patience).toEqual([`pay ${first.pid}`, `look ${second.pid}`]);

  first.kill('SIGCONT');
  mayEnd('pay');
  first.kill('SIGTERM'); // it ends when it has nothing more to write
  await once(first, 'exit');
  expect(await runs.get('r')).toMatchObject({ status: 'running' });

  second.kill('SIGKILL');
  const third = await startWorker(url, folder);
  await expect.poll(calls, patience).toEqual([`pay ${first.pid}`, `look ${second.pid}`, `look ${third.pid}`]);
  mayEnd('look');
  expect(await runs.result('r')).toBe('Done');
  const events = await eventsOf(runs, 'r');
  expect(events.map(({ type }) => type).join(' ')).toBe(
    'started message message intent message message message message finished',
  );
  expect(JSON.stringify(events[4])).toContain('may or may not have taken effect');
});
