// A streamed run: text while the model writes it, tool calls, their progress and their results.
import assert from 'node:assert/strict';
import { PocketAgent, tool } from 'pocket-agent';
import { z } from 'zod';

const countWords = tool({
  name: 'count_words',
  description: 'Counts the words of a text',
  inputSchema: z.object({ text: z.string() }),
  async run({ text }, { progress }) {
    const words = text.split(/\s+/).filter(Boolean);
    for (const [index, word] of words.entries()) progress({ progress: index + 1, total: words.length, message: word });
    return `${words.length} words`;
  },
});

await using agent = new PocketAgent({
  llmModel: process.env.MODEL ?? 'demo',
  name: 'Counter',
  tools: [countWords],
});

const seen = new Set<string>();
for await (const event of agent.stream('Count the words of "the quick brown fox".')) {
  seen.add(event.type);
  if (event.type === 'text_delta') process.stdout.write(event.data.delta);
  if (event.type === 'tool_call') console.log(`\n[calls ${event.data.name}]`);
  if (event.type === 'tool_progress')
    console.log(`[${event.data.progress} of ${event.data.total}: ${event.data.message}]`);
  if (event.type === 'run_finished') console.log('\n[done]');
}

for (const type of ['new_message', 'text_delta', 'tool_call', 'tool_progress', 'tool_result', 'run_finished']) {
  assert.ok(seen.has(type), `no ${type} event`);
}
