// Pictures: from the user, and from tools. Each reaches the model in the form its provider takes.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const redDot =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==';

const screenshot = tool({
  name: 'screenshot',
  description: 'A picture of the screen',
  run: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: redDot }] }),
});

const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'screenshot' }] }, 'Both pictures show a red dot.'], {
  provider: 'openai.chat',
});
await using agent = new PocketAgent({ agentConfig: { llmModel, allowImages: true }, tools: [screenshot] });

console.log(await agent.run({ text: 'Is this what is on my screen?', images: [Buffer.from(redDot, 'base64')] }));

// chat completions take no pictures in tool results, so the second one came in a user message after the result
const prompt = llmModel.calls[1]?.prompt ?? [];
assert.deepEqual(
  prompt.map((message) => message.role),
  ['user', 'assistant', 'tool', 'user'],
);
assert.ok(JSON.stringify(prompt[0]).includes('image/png'));
assert.ok(JSON.stringify(prompt[3]).includes(redDot));
