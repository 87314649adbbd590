// Items that OpenAI and Azure store belong to one account. They are never sent to another account, and nothing fails.
import { type FunctionTool, type Message, PocketAgent, Router, type RouterEvent, tool } from 'pocket-agent';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { API_KEY, type FakeAnswer, OTHER_KEY } from '../fixtures/providers/fake-dialect.ts';
import { FakeProviders } from '../fixtures/providers/fake-providers.ts';
import { silent } from '../helpers.ts';

let fake: FakeProviders;
beforeAll(async () => {
  fake = await FakeProviders.start();
});
afterAll(() => fake.close());
afterEach(() => fake.reset());

const look: FunctionTool = tool({ name: 'look', description: 'Looks', run: () => 'a cat' });
const thinkAndLook: FakeAnswer = {
  reasoning: 'I should look.',
  text: 'One moment.',
  toolCalls: [{ name: 'look', arguments: {} }],
};
const notStored = { providerOptions: { openai: { store: false }, azure: { store: false } } };

async function ask(agent: PocketAgent, text: string, streaming: boolean): Promise<string> {
  return agent.run(text, { streaming });
}

const accounts = ['openai/gpt-5.1', 'azure/my-deployment'].flatMap((model) =>
  [false, true].flatMap((streaming) => [
    { model, streaming, completionOptions: {}, kind: 'stored' },
    { model, streaming, completionOptions: notStored, kind: 'encrypted' },
  ]),
);

describe.each(accounts)('$model, $kind reasoning, streaming: $streaming', ({ model, streaming, completionOptions }) => {
  const agentOf = (apiKey: string, messages: readonly Message[] = []) =>
    fake.agent(model, { tools: [look], config: { ...fake.modelConfig(model, apiKey), completionOptions, messages } });

  test('a conversation moves from one account to another', async () => {
    fake.script(thinkAndLook, { reasoning: 'A cat.', text: 'It is a cat.' }, 'Still a cat.', 'And again.');
    const first = agentOf(API_KEY);
    await ask(first, 'What is there?', streaming);
    const messages: Message[] = JSON.parse(JSON.stringify(first.messages));
    const second = agentOf(OTHER_KEY, messages);
    expect(await ask(second, 'And now?', streaming)).toBe('Still a cat.');
    expect(await ask(second, 'Sure?', streaming)).toBe('And again.');
    expect(second.messages.slice(0, messages.length)).toEqual(messages);
    expect(fake.rejected).toEqual([]);
  });

  test('the same account gets its reasoning back within a loop', async () => {
    // the package asks for encrypted reasoning where it knows the model by its name
    const isSent = model === 'openai/gpt-5.1' || completionOptions !== notStored;
    fake.script(thinkAndLook, 'It is a cat.');
    await ask(agentOf(API_KEY), 'What is there?', streaming);
    expect(/"(item_reference|reasoning)","id":"rs_/.test(`${fake.lastBody}`)).toBe(isSent);
    expect(fake.rejected).toEqual([]);
  });
});

test.each(['openai/gpt-5.1', 'azure/my-deployment'])(
  '%s: items of an answer that was cut off are not sent back',
  async (model) => {
    for (const endAfter of [6, 8, 10, 12, 14]) {
      fake.script({ ...thinkAndLook, endAfter }, 'It is a cat.', 'Fine.');
      const agent = fake.agent(model, { tools: [look] });
      const before = fake.requests.length;
      while (fake.requests.length < before + 3) await ask(agent, 'And now?', true).catch(() => undefined);
      expect(fake.rejected, `after ${endAfter} events`).toEqual([]);
    }
  },
);

describe.each([false, true])('a router over two accounts (streaming: %s)', (streaming) => {
  const events: RouterEvent[] = [];
  const routed = (completionOptions = {}) => {
    events.length = 0;
    const deployment = (id: string, apiKey: string) => ({
      modelName: 'main',
      params: { model: 'openai/gpt-5.1', baseUrl: fake.baseUrl('openai'), apiKey, id },
    });
    const router = new Router({
      models: [deployment('a', API_KEY), deployment('b', OTHER_KEY)],
      random: () => 0, // the first that is free
      logger: silent,
      onEvent: (event) => void events.push(event),
    });
    return new PocketAgent({
      agentConfig: { llmModel: 'main', completionOptions },
      router,
      tools: [look],
      logger: silent,
    });
  };

  test.each([
    ['stored', {}],
    ['encrypted', notStored],
  ])(
    'goes on with the other in the middle of a loop (%s reasoning), and neither is left alone for it',
    async (_, options) => {
      const agent = routed(options);
      fake.script(thinkAndLook, { status: 500 }, { reasoning: 'A cat.', text: 'It is a cat.' }, 'Fine.', 'Good.');
      expect(await ask(agent, 'What is there?', streaming)).toBe('It is a cat.');
      expect(await ask(agent, 'And now?', streaming)).toBe('Fine.');
      expect(await ask(agent, 'Sure?', streaming)).toBe('Good.');
      expect(fake.rejected).toEqual([]);
      const used = events.flatMap((event) => (event.type === 'chosen' ? [event.deployment] : []));
      expect(new Set(used)).toEqual(new Set(['a', 'b']));
      const failed = events.filter((event) => event.type === 'failed');
      expect(failed).toMatchObject([{ kind: 'server' }]);
    },
  );

  test('an item that expired is left out, and no deployment cools down for it', async () => {
    const agent = routed();
    fake.script(thinkAndLook, { status: 404, message: "Item with id 'rs_1' not found." }, 'It is a cat.', 'Fine.');
    expect(await ask(agent, 'What is there?', streaming)).toBe('It is a cat.');
    expect(await ask(agent, 'And now?', streaming)).toBe('Fine.');
    expect(events.filter((event) => event.type === 'failed')).toEqual([]);
  });
});

test.each([false, true])('an item that expired is left out without a router (streaming: %s)', async (streaming) => {
  fake.script(
    thinkAndLook,
    {
      status: 400,
      message: 'The encrypted content gAAA could not be verified.',
      errorCode: 'invalid_encrypted_content',
    },
    'It is a cat.',
  );
  const agent = fake.agent('openai/gpt-5.1', { tools: [look] });
  expect(await ask(agent, 'What is there?', streaming)).toBe('It is a cat.');
  expect(`${fake.lastBody}`).not.toContain('rs_');
});
