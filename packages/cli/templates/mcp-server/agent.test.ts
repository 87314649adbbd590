// The server as an agent sees it: started by mcp.json, and called by a scripted model.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ScriptedModel } from 'pocket-agent/testing';
import { createAgent } from './agent.ts';

test('an agent finds the tools of the server and calls one', async () => {
  const llmModel = new ScriptedModel([
    { toolCalls: [{ name: 'opening_hours', arguments: { day: 'sunday' } }] },
    'The shop is closed on Sunday.',
  ]);
  await using agent = createAgent(llmModel);
  assert.deepEqual(
    (await agent.listTools()).map(({ name }) => name),
    ['opening_hours'],
  );
  assert.equal(await agent.run('Is the shop open on Sunday?'), 'The shop is closed on Sunday.');
  assert.match(JSON.stringify(llmModel.calls.at(-1)?.prompt.at(-1)), /"closed"/); // the model has read the result
  llmModel.assertDone();
});
