// A program for tests: runs whose steps, calls and approvals come from a seed. It starts them, or goes on with them, and answers
// their questions. The process kills itself before a statement that writes.
import { appendFileSync } from 'node:fs';
import { tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { killBefore } from '../../../store/test/kill-before.ts';
import { openRuns } from '../../src/index.ts';
import { agentOf } from '../agents.ts';
import { type SeededOptions, scriptOf } from '../restarts/seeded.ts';

const { url, effects, seed, runs: count, killAt }: SeededOptions = JSON.parse(process.argv[2] ?? '{}');
const annotations = { look: { readOnlyHint: true }, set: { idempotentHint: true }, pay: {}, refund: {} };
const tools = Object.entries(annotations).map(([name, hints]) =>
  tool({
    name,
    description: name,
    annotations: hints,
    run: ({ run }: { run?: string }, { toolCallId }) => {
      appendFileSync(effects, `${name} ${run} ${toolCallId}\n`);
      return `${name} done`;
    },
  }),
);
/** The input names the run, so that any process knows what comes next in its history. */
const answer = ({ prompt }: { prompt: readonly { role: string; content: unknown }[] }) => {
  const [run = ''] = /run-\d+/.exec(JSON.stringify(prompt.find(({ role }) => role === 'user'))) ?? [];
  const step = scriptOf(seed, run)[prompt.filter(({ role }) => role === 'assistant').length];
  if (step === undefined) throw new Error('The script has no more answers.');
  return step;
};
const agent = () =>
  agentOf([], {
    llmModel: new ScriptedModel(Array.from({ length: 5_000 }, () => answer)),
    tools,
    access: { confirm: ({ name }) => name === 'refund' },
  });
const runs = await openRuns({ url, agents: { a: agent } });
let writes = 0;
if (killAt !== undefined)
  killBefore((statement) => /^\s*(with|insert|update|delete|commit|begin)/i.test(statement) && ++writes === killAt);
const ids = Array.from({ length: count }, (_, index) => `run-${index}`);
for (const id of ids) await runs.start('a', id, { id });
const answers = Promise.all(ids.map((id) => runs.result(id)));
let isOver = false;
void answers.then(() => {
  isOver = true;
});
while (!isOver) {
  for (const { id } of await runs.questions()) await runs.answer(id, 'allow').catch(() => {}); // answered by a run that ended
  await new Promise((resolve) => setTimeout(resolve, 5));
}
console.log(JSON.stringify(await answers));
await runs.close();
