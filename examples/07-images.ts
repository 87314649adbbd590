// Images from the user and from tools. Each is sent to the model in the format of its provider.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';

const redDot =
  'iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9TXL0Y4OHwAAAABJRU5ErkJggg==';

const screenshot = tool({
  name: 'screenshot',
  description: 'Takes a screenshot',
  run: () => ({ content: [{ type: 'image', mimeType: 'image/png', data: redDot }] }),
});

const llmModel = new ScriptedModel([{ toolCalls: [{ name: 'screenshot' }] }, 'Both images show a red dot.'], {
  provider: 'openai.chat',
});
await using agent = new PocketAgent({ llmModel, allowImages: true, tools: [screenshot] });

console.log(await agent.run({ text: 'Does my screen show this image?', images: [Buffer.from(redDot, 'base64')] }));

// OpenAI chat completions accept no images in tool results, so the second image follows in a user message
const prompt = llmModel.calls[1]?.prompt ?? [];
assert.deepEqual(
  prompt.map((message) => message.role),
  ['user', 'assistant', 'tool', 'user'],
);
assert.ok(JSON.stringify(prompt[0]).includes('image/png'));
assert.ok(JSON.stringify(prompt[3]).includes(redDot));
