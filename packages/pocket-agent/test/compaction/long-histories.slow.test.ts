// Long histories, in the services up to 2,000 turns: every prompt is one that the strictest provider accepts, and fits into its context window.
import type { LanguageModelV4Content, LanguageModelV4Prompt } from '@ai-sdk/provider';
import { type Message, PocketAgent, tool } from 'pocket-agent';
import { recordEvents } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { StrictModel } from '../fixtures/strict-model.ts';
import { expectValidHistory, silent } from '../helpers.ts';

const TURNS = 2_000;
const WINDOW = 6_000;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

/** The same numbers in every run of the test. */
function numbers(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

const WORDS = Array.from({ length: 4_000 }, (_, index) => `word${index % 97}`);

function words(count: number): string {
  return WORDS.slice(0, count).join(' ');
}

/** Answers with text, or with one to three tool calls, with and without reasoning. */
function talker(seed: number): (prompt: LanguageModelV4Prompt) => LanguageModelV4Content[] {
  const random = numbers(seed);
  let calls = 0;
  return (prompt) => {
    const reasoning = random(3) === 0 ? [{ type: 'reasoning' as const, text: words(random(60) + 1) }] : [];
    const mayCall = prompt.at(-1)?.role === 'user' || random(3) === 0;
    if (!mayCall || random(2) === 0) return [...reasoning, { type: 'text', text: words(random(120) + 1) }];
    const requested = Array.from({ length: random(3) + 1 }, () => ({
      type: 'tool-call' as const,
      toolCallId: `call-${++calls}`,
      toolName: random(20) === 0 ? 'unknown_tool' : 'look_up',
      input: JSON.stringify({ size: random(8) === 0 ? 4_000 : random(300) }),
    }));
    return [...reasoning, ...requested];
  };
}

const lookUp = tool({
  name: 'look_up',
  description: 'Looks something up',
  inputSchema: { type: 'object', properties: { size: { type: 'number' } } },
  run: ({ size }) => (Number(size) === 0 ? '' : words(Number(size))),
});

function expectEverythingCompacted(agent: PocketAgent, model: StrictModel): void {
  expectValidHistory(agent);
  expect(model.overflows).toBe(0);
  expect(JSON.stringify(model.prompts.at(-1))).toContain('Summary ');
}

const conversations = [
  { turns: 150, seed: 1 },
  { turns: 150, seed: 2 },
  ...[1, 2, 3].map((seed) => ({ turns: TURNS, seed })),
];

test.each(conversations)(
  '$turns turns in a row are compacted again and again (seed $seed)',
  async ({ turns, seed }) => {
    const random = numbers(seed + 100);
    const model = new StrictModel({ window: WINDOW, answer: talker(seed) });
    const { events, onEvent } = recordEvents();
    const agent = new PocketAgent({
      llmModel: model,
      systemPrompt: 'Be brief.',
      allowImages: true,
      tools: [lookUp],
      logger: silent,
      hooks: { onEvent },
      compaction: { at: WINDOW * 0.8, keep: WINDOW * 0.3 },
    });
    for (let turn = 0; turn < turns; turn++) {
      const images = random(10) === 0 ? [PIXEL] : [];
      await agent.run({ text: `Turn ${turn}. ${words(random(80))}`, images });
    }
    expectEverythingCompacted(agent, model);
    expect(agent.messages.filter(({ role }) => role === 'user')).toHaveLength(turns);
    expect(agent.messages[0]).toMatchObject({ role: 'user', content: [{ text: expect.stringMatching(/^Turn 0\./) }] });
    const compacted = events.flatMap((event) => (event.type === 'compacted' ? [event.data] : []));
    expect(compacted.length).toBeGreaterThan(turns / 40);
    for (const { tokensBefore, tokensAfter } of compacted) expect(tokensAfter).toBeLessThan(tokensBefore);
    // a summary is used for several steps
    expect(model.summaryPrompts.length).toBeLessThan(model.prompts.length / 5);
  },
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
