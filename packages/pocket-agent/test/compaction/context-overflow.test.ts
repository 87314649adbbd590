// A server with the wire format of OpenAI rejects prompts that are longer than its context window.
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { type LanguageModel, PocketAgent, type PocketAgentOptions, Router, tool } from 'pocket-agent';
import { recordEvents } from 'pocket-agent/testing';
import { afterEach, describe, expect, test } from 'vitest';
import { type SmallWindowOptions, SmallWindowServer } from '../fixtures/providers/small-window.ts';
import { expectValidHistory, silent } from '../helpers.ts';

const WINDOW = 2_000;
const long = 'a long story '.repeat(60);

let server: SmallWindowServer | undefined;
afterEach(() => server?.close());

async function start(answer: SmallWindowOptions['answer'] = () => long): Promise<SmallWindowServer> {
  server = await SmallWindowServer.start({
    window: WINDOW,
    answer: (messages, isSummary) => (isSummary ? `Notes ${server?.summaries.length}.` : answer(messages, isSummary)),
  });
  return server;
}

const models: [string, (baseURL: string) => LanguageModel][] = [
  ['@ai-sdk/openai', (baseURL) => createOpenAI({ baseURL, apiKey: 'key' }).chat('small')],
  [
    '@ai-sdk/openai-compatible',
    (baseURL) => createOpenAICompatible({ name: 'small', baseURL, apiKey: 'key' }).chatModel('small'),
  ],
];

function agentOf(llmModel: LanguageModel, options: Partial<PocketAgentOptions> = {}) {
  const { events, onEvent } = recordEvents();
  const agent = new PocketAgent({ llmModel, logger: silent, hooks: { onEvent }, compaction: true, ...options });
  return { agent, compacted: () => events.filter(({ type }) => type === 'compacted').length };
}

describe.each(models)('through %s', (_name, modelAt) => {
  test.each([false, true])(
    'one overflow shows the size of the context window; later prompts fit (streaming: %s)',
    async (streaming) => {
      const { baseUrl } = await start();
      const { agent, compacted } = agentOf(modelAt(baseUrl));
      for (let turn = 0; turn < 24; turn++) expect(await agent.run(`Question ${turn}`, { streaming })).toBe(long);
      expect(server?.overflows).toBe(1);
      expect(server?.problems).toEqual([]);
      expect(compacted()).toBeGreaterThan(2);
      expect(server?.summaries.length).toBeGreaterThanOrEqual(compacted());
      expect(agent.messages).toHaveLength(48);
      expectValidHistory(agent);
    },
  );

  test('tool calls keep their results in every request', async () => {
    let steps = 0;
    const { baseUrl } = await start(() => {
      if (++steps % 6 === 0) return 'Done.';
      return { calls: Array.from({ length: (steps % 3) + 1 }, () => ({ name: 'look', arguments: { words: 40 } })) };
    });
    const look = tool({
      name: 'look',
      description: 'Looks',
      inputSchema: { type: 'object', properties: { words: { type: 'number' } } },
      run: ({ words }) => 'seen '.repeat(Number(words)),
    });
    const { agent } = agentOf(modelAt(baseUrl), { tools: [look] });
    for (let turn = 0; turn < 12; turn++) expect(await agent.run(`Look ${turn}`)).toBe('Done.');
    expect(server?.problems).toEqual([]);
    expect(server?.overflows).toBe(1);
    expect(server?.summaries.length).toBeGreaterThan(1);
    expectValidHistory(agent);
  });
});

test('through a router', async () => {
  const { baseUrl } = await start();
  const params = { model: 'openai-compatible/small', apiKey: 'key', baseUrl };
  const router = new Router({ models: [{ modelName: 'small', params }] });
  const { agent } = agentOf(router.languageModel('small'));
  for (let turn = 0; turn < 12; turn++) expect(await agent.run(`Question ${turn}`)).toBe(long);
  expect(server?.overflows).toBe(1);
  expect(server?.problems).toEqual([]);
});

test('without the option the error of the provider ends the run', async () => {
  const { baseUrl } = await start();
  const { agent } = agentOf(createOpenAI({ baseURL: baseUrl, apiKey: 'key' }).chat('small'), { compaction: false });
  await expect(agent.run('word '.repeat(5_000))).rejects.toMatchObject({
    code: 'MODEL_FAILED',
    message: expect.stringContaining('maximum context length is 2000 tokens'),
  });
  expect(server?.summaries).toEqual([]);
});
