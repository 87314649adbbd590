// Three workers on one PostgreSQL, one of which is killed every two seconds, and PostgreSQL restarted: every run ends once.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../store/test/postgres.ts';
import { openRuns } from '../src/index.ts';
import { eventsOf, newFile, silent } from './agents.ts';

const program = fileURLToPath(new URL('programs/worker-program.ts', import.meta.url));
/** 2,000 in a few minutes: RUNS=2000 */
const RUNS = Number(process.env.RUNS ?? 200);
const KILLS = Math.ceil(RUNS / 50);

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

async function startWorker(url: string, effects: string): Promise<ChildProcess> {
  const args = ['-C', 'pocket-agent/source', program, JSON.stringify({ url, effects })];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return child;
}

test('every run ends exactly once, and no call is made twice', { timeout: 900_000 }, async () => {
  const url = await postgres.createDatabase();
  const effects = `${newFile()}.effects`;
  writeFileSync(effects, '');
  const runs = await openRuns({ url, logger: silent });
  const begun = performance.now();
  for (let n = 0; n < RUNS; n++) await runs.start('a', 'Pay', { id: `r${n}`, caller: `r${n}` });
  const started = performance.now();
  const workers = await Promise.all([1, 2, 3].map(() => startWorker(url, effects)));
  for (let kill = 0; kill < KILLS; kill++) {
    await sleep(2_000);
    workers[kill % 3]?.kill('SIGKILL');
    if (kill === 1) await postgres.restart();
    workers[kill % 3] = await startWorker(url, effects);
  }
  const count = async () => {
    let finished = 0;
    for (let cursor: string | undefined, isFirst = true; isFirst || cursor !== undefined; isFirst = false) {
      const page = await runs.list({ status: 'finished', limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
      finished += page.runs.length;
      cursor = page.next;
    }
    return finished;
  };
  await expect.poll(count, { timeout: 600_000, interval: 500 }).toBe(RUNS);
  console.log(
    `${RUNS} runs: started in ${Math.round(started - begun)} ms, done ${Math.round(performance.now() - started)} ms later, ${KILLS} kills`,
  );
  for (const worker of workers) worker.kill('SIGKILL');
  const made = Map.groupBy(readFileSync(effects, 'utf8').trim().split('\n'), (line) => line);
  expect([...made.values()].filter(({ length }) => length > 1)).toEqual([]);
  let unknown = 0;
  for (let n = 0; n < RUNS; n++) {
    const events = await eventsOf(runs, `r${n}`);
    expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => type === 'finished')).toHaveLength(1);
    const text = JSON.stringify(events);
    if (text.includes('may or may not have taken effect')) unknown++;
    else expect(made.has(`r${n}`)).toBe(true);
  }
  console.log(`${unknown} calls had an unknown outcome`);
  await runs.close();
});
