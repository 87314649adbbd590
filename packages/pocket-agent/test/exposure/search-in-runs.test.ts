// Searches while other things happen: refused tools, other profiles, forks, new tools, and a router that falls back.
import { APICallError, type LanguageModelV4CallOptions } from '@ai-sdk/provider';
import { fromJsonSchema, McpServer } from '@modelcontextprotocol/server';
import { type Embed, PocketAgent, type Profile, Router, toolsFor } from 'pocket-agent';
import { ScriptedModel } from 'pocket-agent/testing';
import { expect, test } from 'vitest';
import { expectValidHistory, resultText, scriptedAgent, silent } from '../helpers.ts';
import { manyServers, manyTools } from './catalogue.ts';

const SEEDS = [31, 32, 33, 34];

const find = (query: string, more: object = {}) => ({
  toolCalls: [{ name: 'find_tools', arguments: { query, ...more } }],
});
const namesIn = ({ tools = [] }: LanguageModelV4CallOptions) => tools.map(({ name }) => name);

/** Numbers from 0 to 1, the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 16_807) % 2_147_483_647;
    return state / 2_147_483_647;
  };
}

/** Keeps the texts that it is given. */
function recordingEmbed() {
  const texts: string[] = [];
  const embed: Embed = async (given) => {
    texts.push(...given);
    return given.map((text) => [text.length % 7, text.charCodeAt(0) % 5, 1]);
  };
  return { embed, texts };
}

test.each(SEEDS)(
  'a search answers as if refused tools did not exist, and reads none of them (seed %i)',
  async (seed) => {
    const random = seeded(seed);
    const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(random() * items.length)] as Item;
    const tools = manyTools();
    const words = tools.flatMap(({ definition }) => definition.name.split('_')).concat('the', 'new', 'remove', 'show');
    for (let round = 0; round < 10; round++) {
      const profile: Profile = {
        capabilities: ['read', ...(['write', 'create', 'delete'] as const).filter(() => random() < 0.5)],
        allow: random() < 0.5 ? [`*_${pick(words)}`] : [],
        deny: [`${pick(['create', 'list', 'update', 'delete'])}_${pick(['*', 's*', '*e', 'song'])}`],
      };
      const query = Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick(words)).join(' ');
      const drawn = JSON.stringify({ seed, round, query, profile });
      const allowed = toolsFor(
        profile,
        tools.map(({ definition }) => definition),
      );
      const own = tools.filter(({ definition }) => allowed.includes(definition));
      const search = [find(query, { limit: 20 }), 'done'];
      const read = recordingEmbed();
      const toolSearch = random() < 0.5 ? { embed: read.embed } : {};
      const all = scriptedAgent(search, { tools, exposure: 'deferred', toolSearch });
      await all.agent.run('go', { profile });
      const readTexts = read.texts.splice(0);
      const isSearched =
        'embed' in toolSearch &&
        own.length > 0 &&
        namesIn(all.model.calls[0] as LanguageModelV4CallOptions).includes('find_tools');
      const alone = scriptedAgent(search, { tools: own, exposure: 'deferred', toolSearch });
      await alone.agent.run('go');
      expect(resultText(all.agent), drawn).toBe(resultText(alone.agent));
      expect(
        all.model.calls.map((each) => each.tools),
        drawn,
      ).toEqual(alone.model.calls.map((each) => each.tools));
      // what the search does not read cannot change how long it takes
      expect(readTexts.length, drawn).toBe(isSearched ? own.length + 1 : 0);
    }
  },
);

test('a router that falls back to a smaller window in the middle of a run sends it no more than fits', async () => {
  const search = find('create an invoice', { limit: 1 });
  const call = { toolCalls: [{ name: 'create_invoice', arguments: { id: '7' } }] };
  const down = new APICallError({
    message: 'down',
    url: 'http://127.0.0.1',
    requestBodyValues: {},
    statusCode: 503,
    isRetryable: true,
  });
  const large = new ScriptedModel([search, { error: down }, 'done'], {
    provider: 'openai',
    modelId: 'gpt-4.1',
  });
  const small = new ScriptedModel([call], { provider: 'openai', modelId: 'gpt-3.5-turbo' });
  const router = new Router({
    models: [
      { modelName: 'main', params: { model: large } },
      { modelName: 'spare', params: { model: small } },
    ],
    fallbacks: { main: ['spare'] },
    retries: 0,
    logger: silent,
  });
  const agent = new PocketAgent({
    llmModel: 'main',
    router,
    tools: manyTools(),
    exposure: { '*_invoice': 'deferred' },
    limits: { modelRetries: 0 },
    logger: silent,
  });
  expect(await agent.run('go')).toBe('done');
  expect(small.calls).toHaveLength(1);
  const [shown] = small.calls;
  // a tenth of 16,385 tokens
  expect(JSON.stringify(shown?.tools).length).toBeLessThan(4 * 1_638);
  expect(namesIn(shown as LanguageModelV4CallOptions).at(-1)).toBe('create_invoice');
  expect(resultText(agent, 1)).toBe('create invoice 7');
  expectValidHistory(agent);
  await router.close();
});

test('runs with two profiles that take turns, and forks that run at once, find only their own tools', async () => {
  const queries = (count: number) => Array.from({ length: count }, () => [find('delete a song'), 'done']).flat();
  const { agent } = scriptedAgent(queries(6), { tools: manyTools(), exposure: 'deferred' });
  for (let turn = 0; turn < 3; turn++) {
    await agent.run('go', { profile: 'reader' });
    await agent.run('go');
    expect(resultText(agent, 2 * turn)).not.toContain('delete_');
    expect(resultText(agent, 2 * turn + 1)).toContain('- delete_song ');
  }
  const fork = () =>
    new PocketAgent({
      llmModel: new ScriptedModel(queries(1)),
      tools: manyTools(),
      exposure: 'deferred',
      logger: silent,
    });
  const forks = Array.from({ length: 8 }, fork);
  await Promise.all(forks.map((each, index) => each.run('go', index % 2 === 0 ? { profile: 'reader' } : {})));
  for (const [index, each] of forks.entries()) {
    expect(resultText(each).includes('delete_song'), `fork ${index}`).toBe(index % 2 === 1);
  }
});

test('forks share what was read of the tools: the second search reads only the query', async () => {
  const { embed, texts } = recordingEmbed();
  const llmModel = new ScriptedModel(Array.from({ length: 3 }, () => [find('list songs'), 'done']).flat());
  const agent = new PocketAgent({
    llmModel,
    tools: manyTools(),
    exposure: 'deferred',
    toolSearch: { embed },
    logger: silent,
  });
  await agent.run('go');
  const first = texts.length;
  const forks = [agent.fork(), agent.fork()];
  for (const fork of forks) await fork.run('go');
  expect(texts.slice(first)).toEqual(['list songs', 'list songs']);
  for (const fork of forks) expect(resultText(fork)).toBe(resultText(agent));
});

test('a tool that a server adds while a search runs is found by the next search', async () => {
  const server = new McpServer({ name: 'growing', version: '1.0.0' });
  const schema = fromJsonSchema<Record<string, unknown>>({ type: 'object' });
  const add = (name: string, description: string) =>
    server.registerTool(name, { description, inputSchema: schema }, () => ({
      content: [{ type: 'text', text: name }],
    }));
  add('mow_lawn', 'Mows the lawn');
  let searches = 0;
  const embed: Embed = async (given) => {
    if (++searches === 1) add('paint_fence', 'Paints a fence');
    return given.map(() => [1]);
  };
  const call = { toolCalls: [{ name: 'paint_fence', arguments: {} }] };
  const script = [find('paint the fence'), find('paint the fence'), call, 'done'];
  const { agent, model } = scriptedAgent(script, {
    mcpServers: { growing: { server: () => server, exposure: 'deferred' } },
    toolSearch: { embed },
  });
  await agent.run('go');
  expect(resultText(agent, 0)).not.toContain('paint_fence');
  expect(resultText(agent, 1)).toContain('- paint_fence ');
  expect(namesIn(model.calls.at(-1) as LanguageModelV4CallOptions)).toContain('paint_fence');
  expect(resultText(agent, 2)).toBe('paint_fence');
  expectValidHistory(agent);
  await agent.close();
});

test('tools that were found come back with the history, in any process, and leave with a compaction', async () => {
  const options = { mcpServers: await manyServers() };
  const call = { toolCalls: [{ name: 'list_list_song', arguments: { id: '3' } }] };
  const { agent } = scriptedAgent([find('list hotels', { limit: 1 }), call, 'found'], options);
  await agent.run('go');
  const messages = JSON.parse(JSON.stringify(agent.messages));
  const long = 'a long answer '.repeat(500);
  const next = scriptedAgent([long, long, 'a summary', 'done'], { ...options, agentConfig: { messages } });
  await next.agent.run('more');
  expect(next.model.calls.map(namesIn)).toEqual([['find_tools', 'list_list_hotel', 'list_list_song']]);
  await next.agent.run('more');
  await next.agent.compact();
  await next.agent.run('again');
  expect(namesIn(next.model.calls.at(-1) as LanguageModelV4CallOptions)).toEqual(['find_tools']);
  await Promise.all([agent.close(), next.agent.close()]);
});

test('the exposure of a profile holds for its run only, before and after runs of other profiles with the same tools', async () => {
  const call = { toolCalls: [{ name: 'delete_song', arguments: {} }] };
  const script = ['first', call, 'refused', call, 'called'];
  const { agent, model } = scriptedAgent(script, { tools: manyTools(), exposure: 'deferred' });
  const capabilities = ['read', 'write', 'create', 'delete'] as const;
  await agent.run('go', { profile: { capabilities } });
  await agent.run('go', { profile: { capabilities, exposure: { 'delete_*': 'hidden', list_song: 'direct' } } });
  expect(resultText(agent, 0)).toContain('There is no tool "delete_song"');
  await agent.run('go', { profile: { capabilities } });
  expect(resultText(agent, 1)).toBe('delete song undefined');
  const shown = model.calls.map(namesIn);
  expect(shown[0]).toEqual(['find_tools']);
  expect(shown[1]).toEqual(['list_song', 'find_tools']);
  expect(shown[3]).toEqual(['find_tools', 'delete_song']);
});

test('a run with fewer rights inside another finds only its own tools while both go on', async () => {
  const searching = Promise.withResolvers<void>();
  const wentOn = Promise.withResolvers<void>();
  let inner: Promise<unknown> | undefined;
  const outerAnswer = () => {
    wentOn.resolve();
    return 'done';
  };
  const script = [{ toolCalls: [{ name: 'list_song', arguments: {} }] }, find('delete a song'), outerAnswer, 'done'];
  const { agent } = scriptedAgent(script, {
    tools: manyTools(),
    exposure: 'deferred',
    hooks: {
      onLlmResponse: async () => {
        if (inner) return;
        inner = agent.run('inside', { profile: 'reader' });
        await searching.promise;
      },
      preToolCall: async (_context, { name }) => {
        if (name !== 'find_tools') return;
        searching.resolve();
        await wentOn.promise;
      },
    },
  });
  await agent.run('go');
  await inner;
  expect(resultText(agent, 0)).toContain('- list_song ');
  expect(resultText(agent, 0)).not.toContain('delete_');
});
