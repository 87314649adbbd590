// A conversation continues after large images, and after streams that ended anywhere.
import { tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { FakeAnswer } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders, PIXEL } from '../fixtures/providers/fake-providers.ts';
import { ask, oncePerDialect } from '../fixtures/providers/questions.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const HUGE = PIXEL.replace(/=+$/, '') + 'A'.repeat(5_300_000 - PIXEL.length);
const look = tool({ name: 'look', description: 'Looks', run: () => 'a cat' });

/** One of each set of rules, since such an image takes a second. */
const rulesOfImages = oncePerDialect.filter(
  ({ provider }) => provider !== 'ollama' && provider !== 'openai-compatible',
);

test.each(rulesOfImages)(
  '$model gets a large image, or a note if it is larger than it accepts, and continues',
  async ({ model, provider }) => {
    const content = [{ type: 'image' as const, mimeType: 'image/png', data: HUGE }];
    const tools = [tool({ name: 'photo', description: 'Takes a photo', run: () => ({ content }) })];
    const agent = fake.agent(model, { tools, config: { allowImages: true }, maxToolResultBytes: 1_000_000 });
    fake.script({ toolCalls: [{ name: 'photo', arguments: {} }] }, { text: 'Done.' }, { text: 'Fine.' });
    expect(await agent.run('First?')).toBe('Done.');
    expect(await agent.run('And now?')).toBe('Fine.');
    expect(fake.rejected).toEqual([]);
    const isLeftOut = provider === 'anthropic' || provider === 'groq';
    expect(`${fake.lastBody}`.includes('larger than this model accepts')).toBe(isLeftOut);
  },
);

describe.each(oncePerDialect)('$model', ({ model }) => {
  test('the conversation continues after a stream that ended after any of its events', async () => {
    const whole: FakeAnswer = {
      text: 'One moment.',
      reasoning: 'Let me see.',
      toolCalls: [{ name: 'look', arguments: {} }],
    };
    // until a stream had no event left to leave out
    for (let endAfter = 1; fake.shortened === endAfter - 1; endAfter++) {
      const agent = fake.agent(model, { tools: [look], limits: { modelRetries: 0 } });
      fake.script({ ...whole, endAfter });
      fake.script('A cat.');
      const first = await ask(agent, 'What is there?', 'stream');
      if (first !== 'A cat.') expect(await ask(agent, 'And now?', 'stream')).toBe('A cat.');
      fake.script('Fine.');
      expect(await ask(agent, 'Sure?', 'run')).toBe('Fine.');
      expect(fake.rejected, `after ${endAfter} events`).toEqual([]);
    }
    expect(fake.shortened).toBeGreaterThan(2);
  });
});
