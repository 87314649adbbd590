// A program for tests: starts runs, or goes on with them, and answers their questions. The tools note each effect in a
// file. The process kills itself before a statement that writes, counted from the start of the first run.
import { appendFileSync } from 'node:fs';
import { tool } from 'pocket-agent';
import { killBefore } from '../../../store/test/kill-before.ts';
import { openRuns } from '../../src/index.ts';
import { agentOf } from '../agents.ts';

export interface KilledOptions {
  url: string;
  effects: string;
  runs: number;
  /** Counted from 1. */
  killAt?: number;
}

const { url, effects, runs: count, killAt }: KilledOptions = JSON.parse(process.argv[2] ?? '{}');
const note = (text: string) => appendFileSync(effects, `${text}\n`);
const acting = (name: string) =>
  tool({
    name,
    description: name,
    run: ({ run }: { run?: string }, { toolCallId }) => {
      note(`${run} ${toolCallId}`);
      return `${name} done`;
    },
  });
const look = tool({ name: 'look', description: 'Looks', annotations: { readOnlyHint: true }, run: () => 'seen' });

/** The model names the run in each call. */
const agent = () => {
  const call = (name: string, id: string) => ({ name, id, arguments: { run: 'x' } });
  return agentOf(
    [
      { toolCalls: [call('pay', 'a'), call('look', 'b'), call('refund', 'c')] },
      { toolCalls: [call('pay', 'd')] },
      'Done',
    ],
    {
      tools: [acting('pay'), acting('refund'), look],
      access: { confirm: ({ name }) => name === 'refund' },
    },
  );
};
const runs = await openRuns({ url, agents: { a: agent } });
let writes = 0;
if (killAt !== undefined)
  killBefore((statement) => /^\s*(with|insert|update|delete|commit|begin)/i.test(statement) && ++writes === killAt);
const ids = Array.from({ length: count }, (_, index) => `run-${index}`);
for (const id of ids) await runs.start('a', 'Go', { id });
const answers = Promise.all(ids.map((id) => runs.result(id)));
let isOver = false;
void answers.then(() => {
  isOver = true;
});
while (!isOver) {
  for (const { id } of await runs.questions()) await runs.answer(id, 'allow').catch(() => {});
  await new Promise((resolve) => setTimeout(resolve, 5));
}
console.log(JSON.stringify({ answers: await answers, writes }));
await runs.close();
