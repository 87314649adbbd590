// The agent of the bot with a scripted model: its tools are real, and no model is called.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PocketAgent } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { agentOptions } from './agent.ts';

test('the agent looks up opening hours', async () => {
  const llmModel = new ScriptedModel([
    { toolCalls: [{ name: 'opening_hours', arguments: { day: 'sunday' } }] },
    'We are closed on Sunday.',
  ]);
  await using agent = new PocketAgent(agentOptions(llmModel));
  assert.equal(await agent.run('alice: Are you open on Sunday?'), 'We are closed on Sunday.');
  assert.match(JSON.stringify(llmModel.calls.at(-1)?.prompt.at(-1)), /"closed"/); // the model has read the result
  llmModel.assertDone();
});
