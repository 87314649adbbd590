// Prints how long it takes to write one row of the journal of a run to a SQLite file: the median of many rows, as JSON.
import { openStore } from '@pocket-agent/store';
import { type RunStore, write } from '../../packages/runs/src/journal/journal.ts';
import { type RunsSchema, runTables } from '../../packages/runs/src/journal/schema.ts';
import { insertRuns, newRun } from '../../packages/runs/src/journal/start-run.ts';

const ROWS = 2_000;

const opened = await openStore<RunsSchema>({ file: process.argv[2] ?? '', ...runTables });
const store: RunStore = { ...opened, queued: async () => {} };
const run = 'r';
await insertRuns(store, store.db, [{ row: newRun({ id: run, agent: 'a', input: 'Pay' }) }]);
const data = { role: 'user' as const, content: [{ type: 'text' as const, text: 'Pay the invoice. '.repeat(20) }] };
const times: number[] = [];
for (let row = 0; row < ROWS; row++) {
  const begun = performance.now();
  await write(store, store.db, { run, events: [{ type: 'message', data }] });
  times.push(performance.now() - begun);
}
await store.close();
console.log(JSON.stringify({ rowMs: times.toSorted((one, other) => one - other)[ROWS / 2] }));
