// Who owns an agent, which record it has, and what moderators do.
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Caller } from '../../src/base/agent3.ts';
import { OWNER_EXTENSION } from '../../src/cards/card.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { v1Card } from '../fixtures/registry-cards.ts';
import { admin, alice, bob, CardServer, callRecord, Setup } from '../fixtures/registry-setup.ts';

const setup = new Setup();
let registry: Registry;
let server: CardServer;
let base: string;
/** The proof file of the host. */
let file: string | undefined;

beforeEach(async () => {
  file = undefined;
  server = new CardServer(v1Card());
  base = await setup.serve((request, response) => {
    if (request.url !== '/.well-known/agent3-owner.txt') return server.listener(request, response);
    response.writeHead(file === undefined ? 404 : 200, { 'content-type': 'text/plain' }).end(file);
  });
  registry = await setup.registry({ secretKey: 'ab'.repeat(32) });
});

afterEach(() => setup.end());

const at = (url: string, more: object = {}) =>
  v1Card({ supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }], ...more });
const naming = (...owners: string[]) => ({
  capabilities: { extensions: [{ uri: OWNER_EXTENSION, params: { owners } }] },
});

async function rate(agentId: string, ratings: readonly number[], to: Registry = registry): Promise<void> {
  for (const [index, rating] of ratings.entries()) {
    const rater: Caller = { id: `rater-${index}` };
    const receipt = await to.record(callRecord(agentId, { caller: rater.id, success: rating > 2 }));
    await to.feedback({ agentId, rating, feedback: '', receipt }, rater);
  }
}

test('a file on the host proves the ownership, for one owner and one database only', async () => {
  const price = { perCall: 0.5, currency: 'USD' };
  const credentials = [{ type: 'bearer', token: 'hush' } as const];
  const { id, ...first } = await registry.register({ cardUrl: `${base}/`, price, credentials }, bob);
  expect(first).not.toHaveProperty('proof');
  const asked = await registry.claim(id, alice);
  expect(asked).toMatchObject({
    proved: false,
    file: { url: `${base}/.well-known/agent3-owner.txt`, content: expect.stringMatching(/^agent3-owner=[\w-]{43}$/) },
  });
  file = `# owners\n${asked.file?.content}\r\n`;
  expect(await registry.claim(id, bob)).toMatchObject({ proved: false });
  expect(await registry.claim(id, alice)).toMatchObject({ proved: true, proof: 'file' });
  const claimed = await registry.select(id);
  expect(claimed).toMatchObject({ owner: 'alice', proof: 'file' });
  expect(claimed).not.toHaveProperty('price');
  expect(await registry.credentials(id)).toEqual([]);
  await expect(registry.register({ cardUrl: `${base}/`, price }, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const elsewhere = await setup.registry({ file: `${await setup.folder()}/other.db` });
  const other = await elsewhere.register({ cardUrl: `${base}/` }, bob);
  expect(await elsewhere.claim(other.id, alice)).toMatchObject({ proved: false });
});

test('a proof file behind a redirect to another host proves nothing', async () => {
  const { id } = await registry.register({ cardUrl: `${base}/` }, bob);
  const { file: proof } = await registry.claim(id, alice);
  const theirs = await setup.serve((_request, response) => void response.end(proof?.content));
  const redirecting = await setup.serve((request, response) => {
    if (request.url !== '/.well-known/agent3-owner.txt') return server.listener(request, response);
    response.writeHead(302, { location: `${theirs}/` }).end();
  });
  const victim = await registry.register({ cardUrl: `${redirecting}/` }, bob);
  expect(await registry.claim(victim.id, alice)).toMatchObject({ proved: false });
});

test('a card that its host sends proves the ownership of those it names, as long as it names them', async () => {
  const { id } = await registry.register({ cardUrl: `${base}/` }, bob);
  server.card = v1Card(naming('alice'));
  expect(await registry.claim(id, alice)).toMatchObject({ proved: true, proof: 'card' });
  expect(await registry.register({ cardUrl: `${base}/` }, alice)).toMatchObject({ owner: 'alice', proof: 'card' });
  server.card = v1Card({ description: 'sold' });
  await registry.renewed(id);
  expect(await registry.select(id)).not.toHaveProperty('proof');
});

test('a card that was only handed in proves nothing, even if it names its owner', async () => {
  const { id, ...details } = await registry.register({ card: at(`${base}/rpc`, naming('alice')) }, alice);
  expect(details).not.toHaveProperty('proof');
  const { file: proof } = await registry.claim(id, alice);
  file = proof?.content;
  expect(await registry.claim(id, alice)).toMatchObject({ proved: true, proof: 'file' });
});

test('a hub can demand a proof of everyone but admins', async () => {
  const strict = await setup.registry({ requireProof: true });
  const refusal = await strict.register({ cardUrl: `${base}/` }, alice).catch((error: Error) => error);
  expect(refusal).toMatchObject({ code: 'FORBIDDEN' });
  file = /agent3-owner=[\w-]{43}/.exec(String(refusal))?.[0];
  expect(await strict.register({ cardUrl: `${base}/` }, alice)).toMatchObject({ owner: 'alice', proof: 'file' });
  expect(await strict.register({ card: v1Card() }, admin)).toMatchObject({ owner: 'root' });
});

test.each([
  ['another card URL', (url: string) => at(`${url}/rpc`, { name: 'New' })],
  ['a query', (url: string) => at(`${url}/rpc?v=2`)],
  ['another spelling', (url: string) => at(`${url}//%72pc/`)],
])('the bad record of a service stays with its address: %s', async (_case, change) => {
  const bad = await registry.register({ card: at(`${base}/rpc`) }, alice);
  await rate(bad.id, [1, 1, 2]);
  const { reputation, score } = await registry.select(bad.id);
  server.card = change(base);
  for (const owner of [alice, bob]) {
    const again = await registry.register({ cardUrl: `${base}/new/${owner.id}` }, owner);
    expect(again.id).not.toBe(bad.id);
    expect(again).toMatchObject({ reputation, totalReviews: 3 });
    expect(again.score?.reputation).toBeCloseTo(score?.reputation ?? 0, 5);
    expect(again.score?.success).toBeCloseTo(score?.success ?? 0, 5);
  }
  await registry.unregister(bad.id, alice);
  server.card = change(base);
  expect(await registry.register({ cardUrl: `${base}/last` }, bob)).toMatchObject({ reputation, totalReviews: 3 });
});

test('bad ratings stay with the address even if its calls were fast and successful', async () => {
  const { id } = await registry.register({ card: at(`${base}/rpc`) }, alice);
  for (const rater of ['a', 'b']) {
    const receipt = await registry.record(callRecord(id, { caller: rater, responseTime: 5 }));
    await registry.feedback({ agentId: id, rating: 2, feedback: '', receipt }, { id: rater });
  }
  const again = await registry.register({ card: at(`${base}/rpc`, { name: 'New' }) }, bob);
  expect(again).toMatchObject({ reputation: 2, totalReviews: 2 });
  expect(again).not.toHaveProperty('metrics');
});

test('a good record is not inherited', async () => {
  const good = await registry.register({ card: at(`${base}/rpc`) }, alice);
  await rate(good.id, [5, 5, 5]);
  const copy = await registry.register({ card: at(`${base}/rpc`, { name: 'Copy' }) }, bob);
  expect(copy).toMatchObject({ totalReviews: 0 });
  expect(copy).not.toHaveProperty('reputation');
});

test('bad agents of an owner lower the rating that another one on the same host starts with', async () => {
  const bad = await registry.register({ card: at(`${base}/one`) }, alice);
  await rate(bad.id, [1, 1]);
  const standing = async (path: string, owner: Caller, host = base) => {
    const { score, ...details } = await registry.register({ card: at(`${host}/${path}`, { name: path }) }, owner);
    expect(details).not.toHaveProperty('reputation');
    return score?.reputation;
  };
  expect(await standing('two', alice)).toBe(0);
  expect(await standing('three', bob)).toBe(0.5);
  expect(await standing('four', alice, 'https://elsewhere.example')).toBe(0.5);
});

test('a hidden agent is not found, shown or called, except by its owner and admins', async () => {
  const { id } = await registry.register({ card: v1Card() }, alice);
  await registry.report(id, 'sells data', bob);
  await registry.report(id, 'sells all data', bob);
  await expect(registry.moderate(id, 'sells data', bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(registry.reports(alice)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await registry.reports(admin)).toMatchObject({
    agents: [{ agentId: id, reports: [{ reporter: 'bob', reason: 'sells all data' }] }],
  });
  await registry.moderate(id, 'sells data', admin);
  for (const query of ['weather', '', 'forecast for a city'])
    expect((await registry.search({ query })).agents).toEqual([]);
  await expect(registry.select(id, bob)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  await expect(registry.invoke(id)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  expect(await registry.select(id, alice)).toMatchObject({ hidden: 'sells data' });
  expect(await registry.fresh(id)).toMatchObject({ hidden: 'sells data' });
  await registry.register({ card: v1Card(), tags: ['new'] }, alice);
  expect((await registry.search({ query: 'weather' })).totalFound).toBe(0);
  await registry.moderate(id, undefined, admin);
  expect((await registry.search({ query: 'weather' })).agents).toMatchObject([
    { id, tags: ['new', 'weather', 'forecast'] },
  ]);
});
