// 10,000 questions that wait, in SQLite and in PostgreSQL: nothing of them is in memory, and lists come at once.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import pg from 'pg';
import { ScriptedModel } from 'pocket-agent/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../store/test/postgres.ts';
import { openRuns, type Runs } from '../src/index.ts';
import { newFile, refunds, silent } from './agents.ts';

const COUNT = 10_000;
/** On PostgreSQL, a tenth of the runs is started, and their rows are copied: the queue takes ten of them in a second. */
const STARTED_ON_POSTGRES = 1_000;
/** A list takes a few milliseconds on an idle machine. */
const LIST_MS = 500;

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.stop());

/** Asks for a refund, then ends. It remembers no prompts. */
function forgetfulModel(): ScriptedModel {
  const next = ({ prompt }: { prompt: readonly { role: string }[] }) => {
    llmModel.calls.length = 0;
    return prompt.some(({ role }) => role === 'tool')
      ? 'Order 17 is refunded.'
      : { toolCalls: [{ name: 'refund', arguments: { order: 17 } }] };
  };
  const llmModel = new ScriptedModel(Array.from({ length: 1_000 }, () => next));
  return llmModel;
}

const open = (url: string) =>
  openRuns({
    url,
    agents: { support: () => refunds({ llmModel: forgetfulModel() }) },
    maxParallelRuns: 20,
    logger: silent,
  });

async function park(runs: Runs, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n++) await runs.start('support', 'Refund', { id: `r${n}`, caller: `c${n % 100}` });
  const working = async () => {
    const pages = (['queued', 'running'] as const).map((status) => runs.list({ status, limit: 1 }));
    return (await Promise.all(pages)).flatMap((page) => page.runs);
  };
  await expect.poll(working, { timeout: 900_000, interval: 200 }).toEqual([]);
}

async function expectQuickLists(runs: Runs): Promise<void> {
  const times: number[] = [];
  for (let n = 0; n < 20; n++) {
    const begun = performance.now();
    expect(await runs.questions({ caller: `c${n}`, limit: 100 })).toHaveLength(100);
    expect(await runs.questions({ limit: 100 })).toHaveLength(100);
    expect((await runs.list({ limit: 100 })).runs).toHaveLength(100);
    times.push((performance.now() - begun) / 3);
  }
  const median = times.sort((a, b) => a - b)[10] ?? 0;
  console.log(`a list of 100 in ${median.toFixed(1)} ms`);
  expect(median).toBeLessThan(LIST_MS);
}

async function expectAnswered(runs: Runs): Promise<void> {
  const [question] = await runs.questions({ caller: 'c7', limit: 1 });
  await runs.answer(question?.id ?? '', 'allow');
  expect(await runs.result(question?.run ?? '')).toBe('Order 17 is refunded.');
}

test('10,000 parked questions in SQLite take no memory, and are listed at once', { timeout: 1_800_000 }, async () => {
  const runs = await open(`sqlite:${newFile()}`);
  await park(runs, 0, COUNT / 2);
  const half = usedMegabytes();
  await park(runs, COUNT / 2, COUNT);
  const more = usedMegabytes() - half;
  console.log(`${more.toFixed(1)} MB more`);
  // with a promise, a history and an agent for each, 5,000 would take more than 100 MB
  expect(more).toBeLessThan(6);
  await expectQuickLists(runs);
  await expectAnswered(runs);
  await runs.close();
});

test('10,000 parked questions in PostgreSQL are listed at once', { timeout: 1_800_000 }, async () => {
  const url = await postgres.createDatabase();
  const runs = await open(url);
  await park(runs, 0, STARTED_ON_POSTGRES);
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const table of ['pocket_runs', 'pocket_run_questions']) await copyRows(client, table);
  await client.end();
  await expectQuickLists(runs);
  await expectAnswered(runs);
  await runs.close();
});

/** Each row as often as is missing, with ids of its own. */
async function copyRows(client: pg.Client, table: string): Promise<void> {
  const { rows } = await client.query<{ column_name: string }>(
    'select column_name from information_schema.columns where table_name = $1',
    [table],
  );
  const columns = rows.map(({ column_name: name }) => name);
  const values = columns.map((name) => (name === 'id' || name === 'run' ? `${name} || '-' || n` : name));
  const copies = COUNT / STARTED_ON_POSTGRES - 1;
  await client.query(
    `insert into ${table} (${columns}) select ${values} from ${table}, generate_series(1, ${copies}) as n`,
  );
}

function usedMegabytes(): number {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  for (let n = 0; n < 3; n++) collect();
  return process.memoryUsage().heapUsed / 2 ** 20;
}
