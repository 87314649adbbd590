// Durable runs of Pocket Agent on the database of the first argument.
import { openRuns } from '@pocket-agent/runs';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { measureRuns, STEPS } from './measure.ts';

const pay = tool({ name: 'pay', description: 'Pays', run: () => 'paid' });
/** Depends only on the history, so that parallel runs can share the model. */
const answer = ({ prompt }: { prompt: readonly { role: string }[] }) =>
  prompt.filter(({ role }) => role === 'assistant').length < STEPS ? { toolCalls: [{ name: 'pay' }] } : 'done';
const llmModel = new ScriptedModel(Array.from({ length: 10_000 }, () => answer));
const runs = await openRuns({
  url: process.argv[2] ?? '',
  maxParallelRuns: 32,
  agents: {
    a: () => new PocketAgent({ llmModel, tools: [pay], access: { confirm: 'never' }, limits: { maxSteps: STEPS + 1 } }),
  },
});
await measureRuns(async (id) => {
  await runs.start('a', 'Pay', { id });
  return runs.result(id);
});
await runs.close();
process.exit();
