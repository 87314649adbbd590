// Limits that owners agree to, receipts, statements and named tokens.
import { expect, test } from 'vitest';
import { cardOf } from '../fixtures/local-server.ts';
import { alice, ask, connect, open, startHub, tokens } from '../fixtures/mcp-setup.ts';
import { startSdkAgent } from '../fixtures/sdk-agent.ts';

const bob = { id: 'bob' };
const price = { perCall: 0.04, currency: 'USD' };

async function paidAgent(options = {}) {
  const { card } = await startSdkAgent();
  const agent3 = await open(options);
  const { id: agentId } = await agent3.register({ card, price }, alice);
  const say = async (caller = bob) => (await agent3.call({ agentId, message: 'hi' }, caller)).errorCode;
  return { agent3, agentId, say };
}

test('an owner’s limits per call, day and month hold for all of their calls, and for nobody else', async () => {
  let now = Date.UTC(2026, 10, 29, 12);
  const { agent3, say } = await paidAgent({ now: () => now });
  await agent3.setLimits({ perCall: 0.03, perDay: 1 }, bob);
  expect(await say()).toBe('BUDGET');
  expect(await say({ id: 'carol' })).toBeUndefined();
  await agent3.setLimits({ perCall: 0.05, perDay: 0.1, perMonth: 0.13 }, bob);
  expect([await say(), await say(), await say()]).toEqual([undefined, undefined, 'BUDGET']);
  expect((await agent3.account(bob)).spent).toEqual({ today: 0.08, thisMonth: 0.08 });
  now += 86_400_000;
  expect([await say(), await say()]).toEqual([undefined, 'BUDGET']);
  now += 86_400_000;
  expect([await say(), await say(), await say()]).toEqual([undefined, undefined, 'BUDGET']);
  await agent3.setLimits({}, bob);
  expect(await say()).toBeUndefined();
});

test('the limits of the operator stay below', async () => {
  const { agent3, say } = await paidAgent({ budget: { perCallerPerDay: 0.05 } });
  await agent3.setLimits({ perDay: 100 }, bob);
  expect([await say(), await say()]).toEqual([undefined, 'BUDGET']);
});

test('a person who has agreed to a price per call and per day is not asked again over MCP', async () => {
  const { agent3, agentId } = await paidAgent();
  const { call } = await connect({ agent3, callerOf: () => bob });
  const pay = () => call('agent3_call', { agentId, message: 'hi' });
  expect((await pay()).text).toContain('agent3 limits');
  await agent3.setLimits({ perCall: 0.05 }, bob);
  expect((await pay()).isError).toBe(true);
  await agent3.setLimits({ perCall: 0.05, perDay: 0.05 }, bob);
  expect((await pay()).data).toMatchObject({ success: true, metadata: { cost: 0.04 } });
  expect((await pay()).data).toMatchObject({ errorCode: 'BUDGET' });
});

test('a month’s statement sums what a caller paid, with a receipt that the agent’s owner can read', async () => {
  const { agent3, agentId, say } = await paidAgent();
  const month = new Date().toISOString().slice(0, 7);
  await Promise.all([say(), say(), say(), say({ id: 'carol' })]);
  const hub = await startHub({ agent3 });
  const { body: statement } = await ask(hub, `/api/statement?month=${month}`, { owner: 'bob' });
  expect(statement).toMatchObject({ owner: 'bob', month, calls: 3, cost: 0.12, currency: 'USD' });
  expect(statement.agents).toEqual([{ agentId, name: 'Echo', calls: 3, cost: 0.12 }]);
  expect(statement.days).toHaveLength(1);
  expect(statement.receipts).toHaveLength(3);
  const path = `/api/receipts/${encodeURIComponent(statement.receipts[0].receipt)}`;
  for (const owner of ['bob', 'alice', 'root'])
    expect((await ask(hub, path, { owner })).body).toMatchObject({ agentId, caller: 'bob', cost: 0.04 });
  expect((await ask(hub, path, { owner: 'carol' })).status).toBe(422);
  expect((await ask(hub, `${path.slice(0, -3)}abc`, { owner: 'bob' })).status).toBe(422);
  expect((await ask(hub, '/api/statement?month=2026-13', { owner: 'bob' })).status).toBe(400);
  expect((await ask(hub, '/api/statement', { owner: 'dave' })).body).toMatchObject({ calls: 0, cost: 0, receipts: [] });
  const { text } = await ask(hub, '/statement', { owner: 'bob' });
  expect(text).toContain('$0.12');
});

test('a named token works until it is revoked, and only its owner sees and revokes it', async () => {
  const agent3 = await open();
  const hub = await startHub({ agent3 });
  const { status, body } = await ask(hub, '/api/account/tokens', { owner: 'bob', body: { name: 'laptop', days: 1 } });
  expect([status, body.name]).toEqual([201, 'laptop']);
  const read = () => ask(hub, '/api/account', { token: body.token });
  expect((await read()).body).toMatchObject({ owner: 'bob', tokens: [{ id: body.id, name: 'laptop' }] });
  expect(JSON.stringify((await read()).body)).not.toContain(body.token);
  expect(tokens.read(body.token)).toBeUndefined();
  const revoke = (owner: string) => ask(hub, `/api/account/tokens/${body.id}`, { method: 'DELETE', owner });
  expect((await revoke('carol')).status).toBe(400);
  expect((await read()).status).toBe(200);
  expect((await revoke('bob')).status).toBe(204);
  expect((await read()).status).toBe(401);
  expect((await ask(hub, '/api/account', { token: tokens.issue('bob', 'a'.repeat(16)) })).status).toBe(401);
});

test('a named token expires', async () => {
  let now = Date.now();
  const agent3 = await open({ now: () => now });
  const hub = await startHub({ agent3 });
  const { body } = await ask(hub, '/api/account/tokens', { owner: 'bob', body: { name: 'laptop', days: 1 } });
  now += 86_400_001;
  expect((await ask(hub, '/api/account', { token: body.token })).status).toBe(401);
});

test('only its owner replaces and removes the credentials of an agent', async () => {
  const agent3 = await open({ secretKey: 'ab'.repeat(32) });
  const { id } = await agent3.register({ card: cardOf('http://127.0.0.1:1') }, alice);
  const hub = await startHub({ agent3 });
  const put = (owner: string, credentials: object[]) =>
    ask(hub, `/api/agents/${id}/credentials`, { method: 'PUT', owner, body: { credentials } });
  const kinds = async () => (await agent3.account(alice)).agents[0]?.credentials;
  expect((await put('bob', [])).status).toBe(403);
  expect((await put('alice', [{ type: 'bearer', token: 'hush' }])).status).toBe(204);
  expect(await kinds()).toEqual([{ type: 'bearer' }]);
  expect((await put('alice', [])).status).toBe(204);
  expect(await kinds()).toEqual([]);
});

test('a browser that signed in may change things only from pages of the hub', async () => {
  const hub = await startHub({ agent3: await open() });
  const { origin, host } = new URL(hub.url);
  const signIn = (from: string) =>
    fetch(new URL('sign-in', hub.url), {
      method: 'POST',
      redirect: 'manual',
      headers: { origin: from },
      body: new URLSearchParams({ token: tokens.issue('bob'), next: '//evil.example/' }),
    });
  const { headers } = await signIn(origin);
  expect(headers.get('location')).toBe('/account');
  const cookie = headers.get('set-cookie') ?? '';
  expect(cookie).toMatch(/^agent3=a3_bob_[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  expect((await signIn(`http://${host.replace('127.0.0.1', 'localhost')}`)).headers.get('set-cookie')).toBeNull();
  const put = (more: Record<string, string>) =>
    ask(hub, '/api/account/limits', { method: 'PUT', body: { perDay: 1 }, headers: { cookie, ...more } });
  expect((await put({ origin })).status).toBe(204);
  expect((await put({})).status).toBe(401);
  expect((await put({ origin: `http://127.0.0.1:${Number(new URL(origin).port) + 1}` })).status).toBe(401);
  expect((await ask(hub, '/account', { headers: { cookie } })).text).toContain('Sign out');
});
