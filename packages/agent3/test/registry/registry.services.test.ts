import { hash } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { startPostgres, type TestPostgres } from '../../../store/test/postgres.ts';
import type { CardJson, ListedAgent } from '../../src/base/agents.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { manyCards, v1Card, v03Card, wordAt } from '../fixtures/registry-cards.ts';
import {
  alice,
  bob,
  CardServer,
  callRecord,
  expectMigrated,
  makeOldDatabase,
  Setup,
} from '../fixtures/registry-setup.ts';

// Several hubs on one real PostgreSQL.

const setup = new Setup();
let postgres: TestPostgres;
let url: string;
let hubs: Registry[];

beforeAll(async () => {
  postgres = await startPostgres();
});

beforeEach(async () => {
  url = await postgres.createDatabase();
  hubs = await Promise.all([1, 2, 3].map(() => setup.registry({ url, secretKey: 'ab'.repeat(32) })));
});

afterEach(() => setup.end());
afterAll(() => postgres.stop());

function hub(index = 0): Registry {
  const one = hubs[index % hubs.length];
  if (!one) throw new Error('no hub');
  return one;
}

async function names(query: string, filters = {}): Promise<string[]> {
  return (await hub().search({ query, filters })).agents.map(({ name }) => name);
}

async function add(name: string, change: CardJson = {}): Promise<string> {
  return (await hub().register({ card: v1Card({ description: 'x', skills: [], name, ...change }) }, alice)).id;
}

test('hubs that start together on an empty database share agents and credentials', async () => {
  const credentials = [{ type: 'bearer', token: 'hush' } as const];
  const { id } = await hub(0).register({ card: v03Card(), credentials, tags: ['one'] }, alice);
  const seen = await hub(1).select(id);
  expect(seen).toMatchObject({
    name: 'Old Translator',
    owner: 'alice',
    protocols: ['a2a/0.3', 'JSONRPC', 'HTTP+JSON'],
  });
  expect(await hub(2).credentials(id)).toEqual(credentials);
  await expect(hub(1).unregister(id, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await hub(1).unregister(id, alice);
  expect(await hub(2).find(id)).toBeUndefined();
  expect((await hub(2).search({ query: 'translator' })).totalFound).toBe(0);
});

test('an agent with a very long address is registered, and a second record of the address has its price', async () => {
  const path = Array.from({ length: 400 }, (_, index) => hash('sha256', String(index))).join('/');
  const supportedInterfaces = [
    { url: `https://agents.example/${path}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' },
  ];
  const price = { perCall: 0.02, currency: 'USD' };
  await hub().register({ card: v1Card({ name: 'First', supportedInterfaces }), price }, alice);
  const { id } = await hub().register({ card: v1Card({ name: 'Second', supportedInterfaces }) }, alice);
  expect((await hub().select(id)).price).toEqual(price);
});

test('a budget is exact across all hubs, even with concurrent spending', async () => {
  const spending = { time: Date.UTC(2026, 10, 15), amount: 0.25, limits: { perDay: 1, perCallerPerDay: 0.5 } };
  const outcomes = await Promise.all(
    Array.from({ length: 12 }, (_, index) => hub(index).spend({ ...spending, caller: `caller ${index % 3}` })),
  );
  expect(outcomes.filter((exceeded) => exceeded === undefined)).toHaveLength(4);
});

test('the same card registered concurrently at all hubs is one agent of one owner', async () => {
  const server = new CardServer(v1Card());
  const cardUrl = `${await setup.serve(server.listener)}/card`;
  const mine = await Promise.all(hubs.map((one) => one.register({ cardUrl }, alice)));
  expect(new Set(mine.map(({ id }) => id)).size).toBe(1);
  const outcomes = await Promise.allSettled(hubs.map((one) => one.register({ cardUrl }, bob)));
  expect(outcomes.every(({ status }) => status === 'rejected')).toBe(true);
});

test('a rate limit is exact across all hubs', async () => {
  const { id } = await hub().register({ card: v1Card(), rateLimit: { calls: 40, perSeconds: 3_600 } }, alice);
  const agent = await hub().find(id);
  const ask = (index: number) => hub(index).admit(agent as ListedAgent, `caller-${index % 5}`);
  const waits = await Promise.all(Array.from({ length: 120 }, (_, index) => ask(index)));
  expect(waits.filter((wait) => wait === undefined)).toHaveLength(40);
  for (const wait of waits.filter((each) => each !== undefined)) expect(wait).toBeGreaterThan(3_500);
});

test('calls and ratings of all hubs count together, and every call is rated once', async () => {
  const id = await add('Busy');
  const calls = Array.from({ length: 60 }, (_, index) =>
    callRecord(id, { responseTime: index, success: index % 4 > 0 }),
  );
  const receipts = await Promise.all(calls.map((call, index) => hub(index).record(call)));
  const { metrics } = await hub(1).select(id);
  expect(metrics).toMatchObject({ totalCalls: 60, successRate: 0.75 });
  const [receipt = ''] = receipts;
  const rating = { agentId: id, rating: 4, feedback: 'good', receipt };
  const outcomes = await Promise.allSettled(hubs.map((one) => one.feedback(rating, bob)));
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = outcomes.find(({ status }) => status === 'rejected');
  expect(refused).toMatchObject({ reason: { code: 'ALREADY_RATED' } });
  expect(await hub(2).select(id)).toMatchObject({
    reputation: 4,
    totalReviews: 1,
    recentReviews: [{ feedback: 'good' }],
  });
  const now = Date.now();
  const { total, buckets, agents } = await hub().statistics({
    since: now - 60_000,
    until: now + 1_000,
    bucketMs: 60_000,
  });
  expect(total).toMatchObject({ calls: 60, successes: 45 });
  expect(buckets.reduce((sum, bucket) => sum + bucket.calls, 0)).toBe(60);
  expect(agents).toMatchObject([{ name: 'Busy', calls: 60 }]);
});

test('concurrent ratings of one rater weigh like successive ones', async () => {
  const id = await add('Praised');
  const rate = async (rater: string, rating: number, index = 0) => {
    const receipt = await hub(index).record(callRecord(id, { caller: rater }));
    return () => hub(index).feedback({ agentId: id, rating, feedback: '', receipt }, { id: rater });
  };
  const fan = await Promise.all(Array.from({ length: 12 }, (_, index) => rate('fan', 5, index)));
  await Promise.all(fan.map((give) => give()));
  const weight = fan.reduce((sum, _give, index) => sum + 1 / (index + 1), 0);
  const critic = await rate('critic', 1);
  expect((await critic()).reputation).toBeCloseTo((5 * weight + 1) / (weight + 1), 2);
});

test('an agent removed and registered again concurrently is one agent with its record', async () => {
  const server = new CardServer(v1Card());
  const cardUrl = `${await setup.serve(server.listener)}/card`;
  const { id } = await hub().register({ cardUrl }, alice);
  const rate = async (rating: number, caller: { id: string }) => {
    const receipt = await hub().record(callRecord(id, { caller: caller.id }));
    await hub().feedback({ agentId: id, rating, feedback: '', receipt }, caller);
  };
  await rate(1, bob);
  for (let round = 0; round < 5; round++) {
    await hub(round).unregister(id, alice);
    const back = await Promise.all(hubs.map((one) => one.register({ cardUrl }, alice)));
    for (const agent of back) expect(agent).toMatchObject({ id, reputation: 1, totalReviews: 1 });
  }
  await rate(5, alice);
  expect(await hub(1).select(id)).toMatchObject({ reputation: 1, totalReviews: 1, metrics: { totalCalls: 2 } });
});

test('an older database keeps its ratings, except those of owners', async () => {
  const before = await postgres.createDatabase();
  await makeOldDatabase({ url: before });
  await expectMigrated(await setup.registry({ url: before }));
});

test('each due agent is checked by one hub', async () => {
  const server = new CardServer(v1Card());
  const base = await setup.serve(server.listener);
  for (let index = 0; index < 12; index++) await hub().register({ cardUrl: `${base}/${index}` }, alice);
  const before = server.requests.length;
  const counts = await Promise.all(hubs.map((one) => one.checkHealth()));
  expect(counts.reduce((sum, count) => sum + count)).toBe(12);
  expect(server.requests.length - before).toBe(12);
  expect(await hub().health()).toMatchObject({
    status: 'healthy',
    store: { kind: 'postgres' },
    network: { activeAgents: 12 },
  });
});

test('search: weights by field, word forms, typos, filters, and no query language', async () => {
  const skill = { id: 'x', name: 'x', description: 'x', tags: [] };
  await add('in description', { description: 'can translate' });
  await add('in skill', { skills: [{ ...skill, name: 'translate' }] });
  await add('in tag', { skills: [{ ...skill, tags: ['translate'] }] });
  await add('translate');
  await add('Café Weather');
  expect(await names('translating')).toEqual(['translate', 'in tag', 'in skill', 'in description']);
  expect(await names('cafe')).toEqual(['Café Weather']);
  expect(await names('waether')).toEqual(['Café Weather']);
  expect(await names('', { tags: ['translate'] })).toEqual(['in tag']);
  expect(await names('translate', { protocols: ['a2a/1.0'], tags: ['Translate'] })).toEqual(['in tag']);
  expect(await names('translate', { minReputation: 1 })).toEqual([]);
  expect(await names('translate', { maxPricePerCall: 1, healthy: true, verified: true })).toEqual([]);
  for (const query of ["'", ':*', '!x', "weather' | 'x", '<->', '\\', '%', '\u0000', 'the'])
    await hub().search({ query });
});

test('vectors are not stored for an agent that was removed during the computation', async () => {
  let remove = () => Promise.resolve();
  const embedder = async (texts: readonly string[]) => {
    if (texts[0]?.startsWith('Gone')) await remove();
    return texts.map((text) => new Float32Array(/journey|travel/i.test(text) ? [1, 0] : [0, 1]));
  };
  hubs = [await setup.registry({ url, embedder })];
  await add('Travel desk');
  await add('Recipes');
  expect(await names('journey')).toEqual(['Travel desk']);
  remove = async () => hub().unregister((await hub().search({ query: 'gone' })).agents[0]?.id ?? '', alice);
  await expect(add('Gone')).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
});

test('many agents are imported, paged through, and found by rare words', async () => {
  for (const cards of manyCards(150)) await hub().importCards(cards, alice);
  await add('Zeppelin', { description: wordAt(0) });
  expect((await names(`${wordAt(0)} zeppelin`))[0]).toBe('Zeppelin');
  const first = await hub().search({ query: wordAt(0), limit: 50 });
  const second = await hub(1).search({ query: wordAt(0), limit: 50, cursor: first.nextCursor ?? '' });
  const ids = [...first.agents, ...second.agents].map(({ id }) => id);
  expect(new Set(ids).size).toBe(100);
});

test('limits, statements, tokens, reports and exports are the same at every hub', async () => {
  const bad = await add('Bad');
  for (const [index, rater] of ['r1', 'r2', 'r3'].entries()) {
    const receipt = await hub(index).record(callRecord(bad, { caller: rater, cost: 0.1 }));
    await hub(index).feedback({ agentId: bad, rating: 1, feedback: '', receipt }, { id: rater });
  }
  expect(await hub(1).register({ card: v1Card({ name: 'Same address' }) }, bob)).toMatchObject({ reputation: 1 });
  await hub(0).setLimits({ perDay: 1, perMonth: 2 }, bob);
  expect(await hub(1).allowance('bob')).toEqual({ perDay: 1, perMonth: 2 });
  const spending = { time: Date.now(), caller: 'bob', amount: 0.6, limits: { perCallerPerMonth: 1 } };
  expect(await hub(0).spend(spending)).toBeUndefined();
  expect(await hub(1).spend(spending)).toBe('perCallerPerMonth');
  const statement = await hub(2).statement({}, { id: 'r1' });
  expect(statement).toMatchObject({ calls: 1, cost: 0.1, agents: [{ agentId: bad, calls: 1 }], days: [{ calls: 1 }] });
  expect(await hub(0).receipt(statement.receipts[0]?.receipt ?? '', alice)).toMatchObject({ caller: 'r1' });
  const { id: token } = await hub(0).addToken({ name: 'laptop', days: 1 }, bob);
  expect(await hub(1).isValidToken('bob', token)).toBe(true);
  await hub(2).revokeToken(token, bob);
  expect(await hub(1).isValidToken('bob', token)).toBe(false);
  await hub(0).report(bad, 'always wrong', bob);
  await hub(1).moderate(bad, 'always wrong', { id: 'root', isAdmin: true });
  expect((await hub(2).reports({ id: 'root', isAdmin: true })).agents).toMatchObject([{ agentId: bad }]);
  expect((await hub(2).list({})).agents.map(({ card }) => card.name)).toEqual(['Same address']);
  expect(await names('bad')).toEqual([]);
  await hub(1).moderate(bad, undefined, { id: 'root', isAdmin: true });
  expect(await names('bad')).toEqual(['Bad']);
});

test('tasks are found by every hub', async () => {
  const task = {
    taskHandle: 'h',
    agentId: 'a',
    caller: 'bob',
    taskId: 't',
    state: 'working',
    updatedAt: Date.now(),
  } as const;
  await hub(0).saveTask(task);
  await hub(1).saveTask({ ...task, state: 'completed' });
  expect(await hub(2).task('h')).toEqual({ ...task, state: 'completed' });
  await hub(2).tidy();
  expect(await hub(0).task('h')).toBeDefined();
});

test('everything works again after the database was unavailable', async () => {
  const id = await add('Steady');
  await postgres.restart();
  expect((await hub(0).health()).status).toBe('healthy');
  expect((await hub(1).find(id))?.agentId).toBe(id);
});
