// Long histories are compacted again and again. Conversations of 2,000 turns: long-histories.services.test.ts.
import { type Message, PocketAgent } from 'pocket-agent';
import { expect, test } from 'vitest';
import { StrictModel } from '../fixtures/strict-model.ts';
import { silent } from '../helpers.ts';
import { converse, expectEverythingCompacted, lookUp, numbers, WINDOW, words } from './long-conversation.ts';

const TURNS = 2_000;

test.each([1, 2])('150 turns in a row are compacted again and again (seed %i)', (seed) =>
  converse({ turns: 150, seed }),
);

test('a run of 150 steps for one request keeps that request word for word', async () => {
  let steps = 0;
  const random = numbers(7);
  const model = new StrictModel({
    window: WINDOW,
    answer: () => {
      if (++steps > 150) return 'Done.';
      const input = JSON.stringify({ size: random(400) });
      return [{ type: 'tool-call', toolCallId: `call-${steps}`, toolName: 'look_up', input }];
    },
  });
  const agent = new PocketAgent({
    llmModel: model,
    tools: [lookUp],
    logger: silent,
    limits: { maxSteps: 200 },
    compaction: { at: WINDOW * 0.8, keep: WINDOW * 0.3 },
  });
  expect(await agent.run('Find the blue whale in the archive.')).toBe('Done.');
  expectEverythingCompacted(agent, model);
  for (const prompt of model.prompts) expect(JSON.stringify(prompt)).toContain('Find the blue whale in the archive.');
});

test('a saved history of 2,000 turns is summarised in a bounded number of calls', async () => {
  const messages = Array.from({ length: TURNS }, (_, turn): Message[] => [
    { role: 'user', content: [{ type: 'text', text: `Turn ${turn}. ${words(30)}` }] },
    { role: 'assistant', content: [{ type: 'text', text: words(30) }] },
  ]).flat();
  const model = new StrictModel({ window: WINDOW, answer: () => 'Hello.' });
  const agent = new PocketAgent({ llmModel: model, messages, logger: silent, compaction: { at: 4_800, keep: 1_800 } });
  expect(await agent.run('Hello?')).toBe('Hello.');
  expectEverythingCompacted(agent, model);
  expect(model.summaryPrompts.length).toBeLessThanOrEqual(8);
  expect(agent.messages).toHaveLength(2 * TURNS + 2);
});
