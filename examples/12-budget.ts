// A budget for a run with its sub-agents: a runaway agent is stopped before its next call, and the totals show the costs.
import assert from 'node:assert/strict';
import { isPocketError, PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const lookAgain = tool({ name: 'look_again', description: 'Looks again and always finds more', run: () => 'more' });
const neverDone = () =>
  Array.from({ length: 100 }, () => ({ toolCalls: [{ name: 'look_again' }], usage: { input: 900, output: 100 } }));

const worker = new PocketAgent({
  llmModel: new ScriptedModel(neverDone()),
  name: 'Worker',
  tools: [lookAgain],
  prices: { script: { input: 3, output: 15 } }, // USD per million tokens; only needed for unknown models
});
await using boss = new PocketAgent({
  llmModel: new ScriptedModel([
    { toolCalls: [{ name: 'Worker-message', arguments: { message: 'Look at it.' } }] },
    'Enough.',
  ]),
  name: 'Boss',
  subAgents: [worker],
  prices: { script: { input: 3, output: 15 } },
  limits: { maxCostUsd: 0.05, maxTokens: 1_000_000 },
});

try {
  await boss.run('Look at everything.');
  assert.fail('the budget did not stop the run');
} catch (error) {
  assert.ok(isPocketError(error, 'BUDGET_REACHED'));
  console.log(error.message);
}
const { usage, byAgent, byTool } = boss.totals;
console.log(`$${usage.costUsd?.toFixed(4)} for ${usage.modelCalls} model calls`);
console.log(byAgent['Boss/Worker'], byTool.look_again);

assert.ok((usage.costUsd ?? 0) < 0.056);
assert.equal(byAgent.Boss?.modelCalls, 1);
