import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../src/base/agent3.ts';
import type { ListedAgent } from '../../src/base/agents.ts';
import type { SavedTask } from '../../src/bridge/directory.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { v1Card } from '../fixtures/registry-cards.ts';
import { alice, bob, callRecord, expectMigrated, makeOldDatabase, Setup } from '../fixtures/registry-setup.ts';

const DAY = 86_400_000;
const setup = new Setup();
let now: number;
let registry: Registry;
let agentId: string;

beforeEach(async () => {
  now = Date.UTC(2026, 10, 15);
  registry = await setup.registry({ now: () => now });
  agentId = (await registry.register({ card: v1Card() }, alice)).id;
});

afterEach(() => setup.end());

async function rate(rating: number, caller: Caller = bob, feedback = 'fine'): Promise<number | undefined> {
  const receipt = await registry.record(callRecord(agentId, { caller: caller.id, startedAt: now }));
  return (await registry.feedback({ agentId, rating, feedback, receipt }, caller)).reputation;
}

test('metrics count the calls that reached the agent', async () => {
  for (const responseTime of [100, 900, 300])
    await registry.record(callRecord(agentId, { responseTime, startedAt: now }));
  await registry.record(
    callRecord(agentId, { success: false, errorCode: 'TIMEOUT', responseTime: 30_000, startedAt: now }),
  );
  for (const errorCode of ['BUDGET', 'RATE_LIMITED', 'CANCELED', 'AUTH_MISSING'] as const)
    await registry.record(callRecord(agentId, { success: false, errorCode, responseTime: 0, startedAt: now - 1 }));
  const { metrics } = await registry.select(agentId);
  expect(metrics).toEqual({ avgResponseTime: 600, successRate: 0.75, totalCalls: 4 });
});

test('a call that is recorded twice counts once and has one receipt', async () => {
  const call = callRecord(agentId);
  expect(await registry.record(call)).toBe(await registry.record(call));
  expect((await registry.select(agentId)).metrics?.totalCalls).toBe(1);
});

test('feedback needs the receipt of one’s own call that reached the agent', async () => {
  const receipt = await registry.record(callRecord(agentId));
  const other = (await registry.register({ card: v1Card({ name: 'Other' }) }, alice)).id;
  const give = (change: object, caller = bob) =>
    registry.feedback({ agentId, rating: 5, feedback: '', receipt, ...change }, caller);
  await expect(give({ receipt: 'x.y' })).rejects.toMatchObject({ code: 'RECEIPT_INVALID' });
  await expect(give({ receipt: `${receipt}A` })).rejects.toMatchObject({ code: 'RECEIPT_INVALID' });
  await expect(give({ agentId: other })).rejects.toMatchObject({ code: 'RECEIPT_INVALID' });
  await expect(give({}, alice)).rejects.toMatchObject({ code: 'RECEIPT_INVALID' });
  const unsent = await registry.record(callRecord(agentId, { success: false, errorCode: 'BUDGET' }));
  await expect(give({ receipt: unsent })).rejects.toThrow('never reached the agent');
  for (const rating of [0, 6, Number.NaN])
    await expect(give({ rating })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  expect(await give({})).toMatchObject({ success: true, reputation: 5, timestamp: new Date(now).toISOString() });
  await expect(give({ rating: 1 })).rejects.toMatchObject({ code: 'ALREADY_RATED' });
  expect(await registry.select(agentId)).toMatchObject({ reputation: 5, totalReviews: 1 });
});

test('a call rated in two registries at the same moment is rated once', async () => {
  const twin = await setup.registry({ now: () => now });
  const receipt = await registry.record(callRecord(agentId));
  const outcomes = await Promise.allSettled(
    [registry, twin, registry, twin].map((one) => one.feedback({ agentId, rating: 4, feedback: '', receipt }, bob)),
  );
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  expect(await twin.select(agentId)).toMatchObject({ reputation: 4, totalReviews: 1 });
});

test('old ratings count less: half after 180 days', async () => {
  await rate(1, { id: 'a' });
  now += 180 * DAY;
  expect(await rate(4, { id: 'b' })).toBeCloseTo((0.5 * 1 + 4) / 1.5, 1);
});

test('the second rating by the same rater counts half', async () => {
  await rate(1, { id: 'a' });
  expect(await rate(5, { id: 'a' })).toBeCloseTo((1 + 0.5 * 5) / 1.5, 1);
});

test('ratings by owners of their own agents do not count, and each call is still rated once', async () => {
  const found = async () => (await registry.search({ query: 'weather', filters: { minReputation: 1 } })).totalFound;
  for (let times = 0; times < 3; times++) expect(await rate(5, alice)).toBeUndefined();
  expect(await registry.select(agentId)).toMatchObject({ totalReviews: 0, recentReviews: [] });
  expect(await registry.select(agentId)).not.toHaveProperty('reputation');
  expect(await found()).toBe(0);
  expect(await rate(2, bob, 'so so')).toBe(2);
  expect(await rate(5, alice)).toBe(2);
  const recentReviews = [{ rater: 'bob', rating: 2 }];
  expect(await registry.select(agentId)).toMatchObject({ reputation: 2, totalReviews: 1, recentReviews });
  expect(await found()).toBe(1);
  const receipt = await registry.record(callRecord(agentId, { caller: 'alice' }));
  const rating = { agentId, rating: 5, feedback: '', receipt };
  expect((await registry.feedback(rating, alice)).message).toContain('only ratings by others count');
  await expect(registry.feedback(rating, alice)).rejects.toMatchObject({ code: 'ALREADY_RATED' });
});

test('a rating is shown with the userAgentId of its call, and a different one is refused', async () => {
  const receipt = await registry.record(callRecord(agentId, { userAgentId: 'my-bot-456' }));
  const rating = { agentId, rating: 4, feedback: 'fine', receipt };
  await expect(registry.feedback({ ...rating, userAgentId: 'other-bot' }, bob)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining('userAgentId'),
  });
  await registry.feedback(rating, bob);
  expect((await registry.select(agentId)).recentReviews).toMatchObject([{ rater: 'bob', userAgentId: 'my-bot-456' }]);
});

test('a userAgentId has the experience of its own calls, so a new name adds no weight', async () => {
  for (let number = 0; number < 3; number++) {
    const { id } = await registry.register({ card: v1Card({ name: `Other ${number}` }) }, alice);
    await registry.record(callRecord(id, { userAgentId: 'old-bot', startedAt: now }));
  }
  const rateAs = async (userAgentId: string, rating: number) => {
    const receipt = await registry.record(callRecord(agentId, { userAgentId, startedAt: now }));
    return (await registry.feedback({ agentId, rating, feedback: '', receipt }, bob)).reputation;
  };
  expect(await rateAs('old-bot', 5)).toBe(5);
  // weights 1 and 1/4 · 1/2: the second rating by the same caller, by an agent with calls to one agent
  expect(await rateAs('new-bot', 1)).toBeCloseTo((5 + 1 / 8) / (1 + 1 / 8), 2);
});

test('ratings by an agent of itself or of another agent of its owner do not count', async () => {
  const { id: sibling } = await registry.register({ card: v1Card({ name: 'Sibling' }) }, alice);
  for (const userAgentId of [agentId, sibling]) {
    const receipt = await registry.record(callRecord(agentId, { userAgentId, startedAt: now }));
    const { message } = await registry.feedback({ agentId, rating: 5, feedback: '', receipt }, bob);
    expect(message).toContain('only ratings by others count');
  }
  expect(await registry.select(agentId)).toMatchObject({ totalReviews: 0 });
});

test('ratings by an agent of itself do not count even if its owner is the only user', async () => {
  const local = { ...alice, isLocal: true };
  const receipt = await registry.record(
    callRecord(agentId, { caller: alice.id, userAgentId: agentId, startedAt: now }),
  );
  await registry.feedback({ agentId, rating: 5, feedback: '', receipt }, local);
  expect(await registry.select(agentId)).toMatchObject({ totalReviews: 0 });
});

test('an agent shows how often its owner called and rated in its name', async () => {
  const { id: bot } = await registry.register({ card: v1Card({ name: 'Bot' }) }, bob);
  expect(await registry.select(bot)).not.toHaveProperty('asCaller');
  const receipt = await registry.record(callRecord(agentId, { userAgentId: bot, startedAt: now }));
  await registry.record(callRecord(agentId, { userAgentId: bot, caller: 'mallory', startedAt: now }));
  await registry.feedback({ agentId, rating: 5, feedback: '', receipt }, bob);
  expect((await registry.select(bot)).asCaller).toEqual({ calls: 1, ratings: 1 });
});

test('the only user of a registry can rate their own agents', async () => {
  expect(await rate(4, { ...alice, isLocal: true })).toBe(4);
  expect(await registry.select(agentId)).toMatchObject({ reputation: 4, totalReviews: 1 });
});

test.each<[string, () => Promise<unknown>]>([
  ['registered an agent', () => registry.register({ card: v1Card({ name: 'other' }) }, bob)],
  ['called one', () => registry.record(callRecord(agentId, { caller: 'bob', startedAt: now }))],
  ['called one, by a name that comes before', () => registry.record(callRecord(agentId, { caller: 'al' }))],
])('the local owner is no longer the only user once someone else has %s', async (_what, use) => {
  await use();
  expect(await rate(5, { ...alice, isLocal: true })).toBeUndefined();
  expect(await registry.select(agentId)).toMatchObject({ totalReviews: 0, recentReviews: [] });
});

test('an older database keeps its ratings, except those of owners', async () => {
  const file = join(await setup.folder(), 'before.db');
  await makeOldDatabase({ file });
  const migrated = await setup.registry({ file });
  await expectMigrated(migrated);
});

test('a rater with experience of several agents counts more', async () => {
  for (const name of ['one', 'two', 'three']) {
    const { id } = await registry.register({ card: v1Card({ name }) }, alice);
    await registry.record(callRecord(id, { caller: 'expert' }));
  }
  await rate(1, { id: 'novice' });
  expect(await rate(5, { id: 'expert' })).toBeCloseTo((0.25 * 1 + 5) / 1.25, 1);
});

test('calls with too short a timeout affect neither the record nor the ratings of an agent', async () => {
  const timeout = { success: false, errorCode: 'TIMEOUT', responseTime: 1 } as const;
  const receipt = await registry.record(callRecord(agentId, timeout));
  expect((await registry.select(agentId)).metrics).toBeUndefined();
  await expect(registry.feedback({ agentId, rating: 1, feedback: '', receipt }, bob)).rejects.toMatchObject({
    code: 'RECEIPT_INVALID',
  });
});

test('calls to unknown agents add no experience', async () => {
  for (const name of ['x', 'y', 'z'])
    await registry.record(callRecord(name, { caller: 'cheat', success: false, errorCode: 'AGENT_UNKNOWN' }));
  await rate(1, { id: 'novice' });
  expect(await rate(5, { id: 'cheat' })).toBeCloseTo(3, 1);
});

test('spending counts for all registries of a database, and is rolled back if it exceeds a limit', async () => {
  const twin = await setup.registry({ now: () => now });
  const limits = { perDay: 1, perCallerPerDay: 0.7 };
  const spend = (one: Registry, caller: string, amount: number) =>
    one.spend({ time: Date.UTC(2026, 10, 15), caller, amount, limits });
  expect(await spend(registry, 'a', 0.6)).toBeUndefined();
  expect(await spend(twin, 'a', 0.2)).toBe('perCallerPerDay');
  expect(await spend(twin, 'b', 0.5)).toBe('perDay');
  expect(await spend(twin, 'b', 0.25)).toBeUndefined();
  expect(await spend(registry, 'a', -0.5)).toBeUndefined();
  expect(await spend(twin, 'a', 0.5)).toBeUndefined();
  expect(await twin.spend({ time: Date.UTC(2026, 10, 16), caller: 'a', amount: 0.6, limits })).toBeUndefined();
});

test('reviews are cleaned, limited in length, and newest first', async () => {
  await rate(3, bob, 'first');
  now += 1_000;
  await rate(4, bob, `second \u001b[31m\u202e${'x'.repeat(5_000)}`);
  const { recentReviews } = await registry.select(agentId);
  expect(recentReviews.map(({ rating }) => rating)).toEqual([4, 3]);
  expect(recentReviews[0]?.feedback).toMatch(/^second x+…$/);
  expect(recentReviews[0]?.feedback.length).toBe(2_000);
  expect(recentReviews[1]).toEqual({
    rater: 'bob',
    rating: 3,
    feedback: 'first',
    timestamp: new Date(now - 1_000).toISOString(),
  });
});

async function limited(calls: number, perSeconds: number): Promise<ListedAgent> {
  const { id } = await registry.register(
    { card: v1Card({ name: 'Limited' }), rateLimit: { calls, perSeconds } },
    alice,
  );
  const agent = await registry.find(id);
  if (!agent) throw new Error('not registered');
  return agent;
}

test('a rate limit holds in every window, and the wait is returned', async () => {
  const agent = await limited(3, 60);
  expect(await registry.admit(agent, 'a')).toBeUndefined();
  now += 20_000;
  expect(await registry.admit(agent, 'b')).toBeUndefined();
  expect(await registry.admit(agent, 'c')).toBeUndefined();
  expect(await registry.admit(agent, 'd')).toBe(40);
  now += 40_000;
  expect(await registry.admit(agent, 'd')).toBeUndefined();
  expect(await registry.admit(agent, 'd')).toBe(20);
});

test('a large window in slots is never exceeded', async () => {
  const agent = await limited(10, 86_400);
  const admitted: number[] = [];
  for (let minute = 0; minute < 3_000; minute += 7) {
    if ((await registry.admit(agent, 'a')) === undefined) admitted.push(now);
    now += 7 * 60_000;
  }
  for (const [index, time] of admitted.entries())
    if (index >= 10) expect(time - (admitted[index - 10] ?? 0)).toBeGreaterThanOrEqual(DAY);
  expect(admitted.length).toBeGreaterThanOrEqual(30);
});

test('a caller is limited over all agents, and a call refused by one limit is not counted by the other', async () => {
  registry = await setup.registry({ now: () => now, callerRateLimit: { calls: 2, perSeconds: 10 } });
  const agent = await limited(1, 10);
  const free = { ...agent, agentId: 'free', rateLimit: undefined };
  expect(await registry.admit(agent, 'a')).toBeUndefined();
  expect(await registry.admit(agent, 'a')).toBe(10);
  expect(await registry.admit(free, 'a')).toBeUndefined();
  expect(await registry.admit(free, 'a')).toBe(10);
  expect(await registry.admit(free, 'b')).toBeUndefined();
});

test('two registries of one file share limits', async () => {
  const twin = await setup.registry({ now: () => now });
  const agent = await limited(25, 60);
  const asked = Array.from({ length: 60 }, (_, index) => (index % 2 ? registry : twin).admit(agent, `caller-${index}`));
  const waits = await Promise.all(asked);
  expect(waits.filter((wait) => wait === undefined)).toHaveLength(25);
});

test('a task is found until it expires, and keeps its owner', async () => {
  const task: SavedTask = { taskHandle: 'h', agentId, caller: 'bob', taskId: 't', state: 'working', updatedAt: now };
  await registry.saveTask(task);
  expect(await registry.task('h')).toEqual(task);
  const pushed: SavedTask = { ...task, caller: 'eve', state: 'completed', contextId: 'c', pushed: '{"a":1}' };
  await registry.saveTask(pushed);
  expect(await registry.task('h')).toEqual({ ...pushed, caller: 'bob' });
  expect(await registry.task('other')).toBeUndefined();
  now += 8 * DAY;
  expect(await registry.task('h')).toBeUndefined();
  await registry.tidy();
  now -= 8 * DAY;
  expect(await registry.task('h')).toBeUndefined();
});

test('calls over time, their cost and success, by agent and in total', async () => {
  const start = now - 3_600_000;
  const other = (await registry.register({ card: v1Card({ name: 'Other' }) }, alice)).id;
  await registry.record(callRecord(agentId, { startedAt: start, cost: 0.5, responseTime: 100 }));
  await registry.record(
    callRecord(agentId, {
      startedAt: start + 1_000,
      cost: 0.25,
      responseTime: 300,
      success: false,
      errorCode: 'AGENT_ERROR',
    }),
  );
  await registry.record(callRecord(other, { startedAt: start + 1_800_000, responseTime: 50 }));
  await registry.record(callRecord(other, { startedAt: start - DAY }));
  const unknownAgent = {
    startedAt: start + 1_800_001,
    success: false,
    errorCode: 'AGENT_UNKNOWN',
    responseTime: 150,
  } as const;
  await registry.record(callRecord('text sent as an id', unknownAgent));
  const all = await registry.statistics({ since: start, until: now, bucketMs: 600_000 });
  expect(all.total).toEqual({ calls: 4, successes: 2, successRate: 2 / 4, cost: 0.75, averageResponseTime: 150 });
  expect(all.buckets.map(({ start: from, calls }) => [from - start, calls])).toEqual([
    [0, 2],
    [1_800_000, 2],
  ]);
  expect(all.agents.map(({ name, calls, successRate }) => [name, calls, successRate])).toEqual([
    ['Weather', 2, 0.5],
    ['Other', 1, 1],
  ]);
  const one = await registry.statistics({ agentId: other, since: start, until: now, bucketMs: 600_000 });
  expect(one).toMatchObject({ total: { calls: 1, cost: 0 }, agents: [] });
  const none = await registry.statistics({ agentId: 'unknown', since: start, until: now, bucketMs: 600_000 });
  expect(none.total).toMatchObject({ calls: 0, successRate: 1 });
  const tooFine = registry.statistics({ since: 0, until: now, bucketMs: 1_000 });
  await expect(tooFine).rejects.toMatchObject({ code: 'INPUT_INVALID' });
});

test('figures of an agent over time leave out the calls that its track record leaves out', async () => {
  const failures = ['CANCELED', 'RATE_LIMITED', 'AGENT_ERROR'] as const;
  const failed = { startedAt: now, success: false };
  for (const errorCode of failures) await registry.record(callRecord(agentId, { ...failed, errorCode }));
  await registry.record(callRecord(agentId, { ...failed, errorCode: 'TIMEOUT', responseTime: 500 }));
  await registry.record(callRecord(agentId, { startedAt: now }));
  const { metrics } = await registry.select(agentId);
  const { total } = await registry.statistics({ agentId, since: now - DAY, until: now + 1, bucketMs: DAY });
  const whole = await registry.statistics({ since: now - DAY, until: now + 1, bucketMs: DAY });
  expect(metrics).toMatchObject({ totalCalls: 2, successRate: 0.5 });
  expect(total).toMatchObject({ calls: 2, successRate: 0.5 });
  expect(whole.total.calls).toBe(5);
  expect(whole.agents).toMatchObject([{ calls: 2, successRate: 0.5 }]);
});

test('the health of the hub shows its contents and an unavailable store', async () => {
  await rate(5);
  await registry.search({ query: 'weather' });
  expect(await registry.health()).toMatchObject({
    status: 'healthy',
    store: { kind: 'sqlite' },
    network: { totalAgents: 1, recentCalls: 1, totalFeedback: 1 },
    performance: { callLatency: 100, searchLatency: expect.any(Number) },
    version: expect.stringMatching(/^\d+\.\d+\.\d+/),
  });
  await registry.close();
  expect((await registry.health()).status).toBe('unhealthy');
});
