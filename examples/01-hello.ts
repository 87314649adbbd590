// The smallest agent: a model and one question. To use a real model, set MODEL=anthropic/claude-sonnet-5 and its API key.
import assert from 'node:assert/strict';
import { PocketAgent } from 'pocket-agent';

await using agent = new PocketAgent({
  llmModel: process.env.MODEL ?? 'demo',
  name: 'Greeter',
  systemPrompt: 'You are a friendly greeter.',
});

const answer = await agent.run('Say hello.');
console.log(answer);

assert.ok(answer.length > 0);
assert.deepEqual(
  agent.messages.map((message) => message.role),
  ['user', 'assistant'],
);
