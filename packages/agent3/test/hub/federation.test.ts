// Hubs that search each other.
import { expect, test } from 'vitest';
import type { Hub, LocalAgent3 } from '../../src/index.ts';
import { cardOf } from '../fixtures/local-server.ts';
import { alice, altered, ask, open, startHub } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

const bob = { id: 'bob' };

/** A hub on a port that its peers know before it starts. */
async function hubAt(port: number, peers: readonly number[], options = {}): Promise<{ agent3: LocalAgent3; hub: Hub }> {
  const urls = peers.map((peer) => ({ url: `http://127.0.0.1:${peer}`, timeoutMs: 30_000 }));
  const agent3 = await open({ peers: urls, ...options });
  return { agent3, hub: await startHub({ agent3, port }) };
}

async function freePorts(count: number): Promise<number[]> {
  const hubs = await Promise.all(Array.from({ length: count }, async () => startHub({ agent3: await open() })));
  const ports = hubs.map(({ url }) => Number(new URL(url).port));
  await Promise.all(hubs.map((hub) => hub.close()));
  return ports;
}

const host = (hub: Hub) => new URL(hub.url).host;
const echo = (number: number) => cardOf(`http://127.0.0.1:${number}`, { name: `Echo ${number}` });

test('hubs in a circle find each other’s agents, each once', async () => {
  const [one = 0, two = 0, three = 0] = await freePorts(3);
  const [a, b, c] = await Promise.all([hubAt(one, [two]), hubAt(two, [three]), hubAt(three, [one])]);
  await a.agent3.register({ card: echo(1) }, alice);
  await b.agent3.register({ card: echo(2) }, alice);
  await c.agent3.register({ card: echo(3) }, alice);
  await c.agent3.register({ card: echo(1) }, alice);
  const found = await a.agent3.search({ query: 'echo' });
  expect(found.agents.map(({ name }) => name).sort()).toEqual(['Echo 1', 'Echo 2', 'Echo 3']);
  expect(found.hubs).toEqual([{ hub: `http://${host(b.hub)}`, answered: true }]);
  const far = found.agents.find(({ name }) => name === 'Echo 3');
  expect(far?.id).toMatch(new RegExp(`^echo-3-\\w+@${host(c.hub)}@${host(b.hub)}$`));
  expect(await a.agent3.select(far?.id ?? '')).toMatchObject({ id: far?.id, name: 'Echo 3' });
});

test('an agent of another hub is called from here, with our limits, log and receipts, and rated there', async () => {
  const [one = 0, two = 0] = await freePorts(2);
  const a = await hubAt(one, [two], { budget: { perCallerPerDay: 0.05 } });
  const b = await hubAt(two, [], { secretKey: 'ab'.repeat(32) });
  const { card } = await startSdkAgent();
  const credentials = [{ type: 'bearer', token: 'hush' } as const];
  await b.agent3.register({ card, price: { perCall: 0.04, currency: 'USD' }, credentials }, alice);
  const { body } = await ask(a.hub, '/api/agents?query=echo');
  const [{ id: agentId, hub }] = body.agents;
  expect(hub).toBe(`http://${host(b.hub)}`);
  const response = await a.agent3.call({ agentId, message: 'hello' }, bob);
  expect(response).toMatchObject({ success: true, result: { text: 'you said: hello' }, metadata: { cost: 0.04 } });
  expect(await a.agent3.call({ agentId, message: 'hello' }, bob)).toMatchObject({ errorCode: 'BUDGET' });
  expect((await a.agent3.calls({}, bob)).calls).toMatchObject([{ errorCode: 'BUDGET' }, { agentId, cost: 0.04 }]);
  expect((await b.agent3.calls({}, { id: 'root', isAdmin: true })).calls).toEqual([]);
  const rating = { agentId, rating: 5, feedback: '', receipt: response.receipt ?? '' };
  await expect(a.agent3.feedback(rating, bob)).rejects.toMatchObject({
    code: 'INPUT_INVALID',
    message: expect.stringContaining(`rate it there`),
  });
  const page = await ask(a.hub, `/agents/${encodeURIComponent(agentId)}`);
  expect([page.status, page.text.includes(`at ${host(b.hub)}`)]).toEqual([200, true]);
});

test('a hub that does not answer delays nothing but the first search', async () => {
  const [one = 0, two = 0] = await freePorts(2);
  let now = Date.now();
  const a = await hubAt(one, [two], { now: () => now });
  await a.agent3.register({ card: echo(1) }, alice);
  const search = async () => (await a.agent3.search({ query: 'echo' })).hubs?.[0]?.answered;
  expect(await search()).toBe(false);
  const b = await hubAt(two, []);
  await b.agent3.register({ card: echo(2) }, alice);
  expect(await search()).toBe(false);
  now += 30_001;
  expect(await search()).toBe(true);
});

test('a request that has passed a hub, or enough hubs, is not passed on', async () => {
  const [one = 0, two = 0] = await freePorts(2);
  let asked = 0;
  const b = await open();
  const counting = altered(b, {
    search: (query, caller, options) => {
      asked++;
      return b.search(query, caller, options);
    },
  });
  await startHub({ agent3: counting, port: two });
  const a = await hubAt(one, [two]);
  await a.agent3.register({ card: echo(1) }, alice);
  const search = async (via: string) =>
    (await ask(a.hub, '/api/agents?query=echo', { headers: { 'agent3-via': via } })).body;
  expect((await search('x')).agents).toHaveLength(1);
  expect(asked).toBe(1);
  expect((await search('x, y')).agents).toHaveLength(1);
  expect((await search(a.agent3.hubId)).agents).toEqual([]);
  expect(asked).toBe(1);
});
