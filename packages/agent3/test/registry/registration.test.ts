import { setTimeout as passed } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Registry } from '../../src/registry/registry.ts';
import { v1Card, v03Card } from '../fixtures/registry-cards.ts';
import { admin, alice, bob, CardServer, callRecord, Setup } from '../fixtures/registry-setup.ts';

const setup = new Setup();
let registry: Registry;

beforeEach(async () => {
  registry = await setup.registry();
});

afterEach(() => setup.end());

async function cardServer(card = v1Card()): Promise<{ server: CardServer; base: string; url: string }> {
  const server = new CardServer(card);
  const base = await setup.serve(server.listener);
  return { server, base, url: `${base}/.well-known/agent-card.json` };
}

/** A server of one card whose next answer can be delayed. */
async function holdingServer(): Promise<{ server: CardServer; url: string; hold(): Promise<() => void> }> {
  const server = new CardServer(v1Card());
  const held = Promise.withResolvers<() => void>();
  let isHolding = false;
  const base = await setup.serve((request, response) => {
    const answer = () => server.listener(request, response);
    if (!isHolding) return answer();
    isHolding = false;
    return held.resolve(answer);
  });
  const hold = () => {
    isHolding = true;
    return held.promise;
  };
  return { server, url: `${base}/card`, hold };
}

test('an agent is registered by the URL of its card and shown with its contents', async () => {
  const { url, base } = await cardServer(v1Card({ provider: { organization: 'Sky Inc', url: 'https://sky.example' } }));
  const details = await registry.register(
    {
      cardUrl: `${base}/`,
      price: { perCall: 0.02, currency: 'USD' },
      rateLimit: { calls: 5, perSeconds: 60 },
      tags: ['Outdoor'],
    },
    alice,
  );
  expect(details).toMatchObject({
    name: 'Weather',
    owner: 'alice',
    version: '1.2.0',
    cardUrl: url,
    protocols: ['a2a/1.0', 'JSONRPC'],
    verified: false,
    tags: ['outdoor', 'weather', 'forecast'],
    price: { perCall: 0.02, currency: 'USD' },
    rateLimit: { calls: 5, perSeconds: 60 },
    health: 'unknown',
    totalReviews: 0,
    recentReviews: [],
    provider: { organization: 'Sky Inc' },
    skills: [{ id: 'forecast', examples: ['Will it rain in Oslo?'] }],
    inputModes: ['text/plain'],
  });
  expect(details.id).toMatch(/^weather-[0-9a-f]{10}$/);
  expect(details.reputation).toBeUndefined();
  expect(details.metrics).toBeUndefined();
  expect(await registry.select(details.id)).toEqual(details);
});

test('a card of A2A 0.3 is stored unchanged and read as 1.0', async () => {
  const card = v03Card();
  const { id, protocols } = await registry.register({ card }, alice);
  expect(protocols).toEqual(['a2a/0.3', 'JSONRPC', 'HTTP+JSON']);
  expect(await registry.find(id)).toMatchObject({ card, idempotent: false, verified: false, owner: 'alice' });
  const { authentication } = await registry.invoke(id);
  expect(authentication).toMatchObject({ schemes: ['apiKey'], required: true, available: false, sends: [] });
});

test.each([
  ['no name', v1Card({ name: undefined }), /A2A 1\.0: name: /],
  ['no interface', v1Card({ supportedInterfaces: [] }), /supportedInterfaces: /],
  [
    'a relative address',
    v1Card({ supportedInterfaces: [{ url: '/a2a', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] }),
    /supportedInterfaces\[0\]\.url/,
  ],
  ['capabilities as a list', v1Card({ capabilities: ['x'] }), /capabilities: /],
  ['a skill without an id', v1Card({ skills: [{ name: 'x', description: 'y', tags: [] }] }), /skills\[0\]\.id: /],
  ['two schemes in one', v1Card({ securitySchemes: { a: { x: {}, y: {} } } }), /securitySchemes\.a: .*exactly one/],
  [
    'the card of the original Agent3',
    { agentId: 'x', endpoint: 'https://x.example' },
    /A2A 1\.0: name: .*supportedInterfaces: /,
  ],
  [
    'a 0.3 card with an unknown scheme',
    v03Card({ securitySchemes: { a: { type: 'magic' } } }),
    /A2A 0\.3: securitySchemes\.a\.type/,
  ],
  ['a name that cannot be seen', v1Card({ name: '\u202e\u200b' }), /name has no visible characters/],
  ['a huge card', v1Card({ description: 'x'.repeat(300_000) }), /larger than 256 KiB/],
])('a card with %s is refused with the reason', async (_what, card, message) => {
  const refused = registry.register({ card }, alice);
  await expect(refused).rejects.toMatchObject({ code: 'CARD_INVALID', message: expect.stringMatching(message) });
});

test.each([
  [{}, /one of cardUrl, card, mcpUrl and server/],
  [{ cardUrl: 'https://a.example/', card: v1Card() }, /one of cardUrl, card, mcpUrl and server/],
  [{ cardUrl: 'ftp://a.example/card' }, /absolute http or https/],
  [{ cardUrl: 'https://user:hush@a.example/card' }, /password/],
  [{ cardUrl: 'http://a.example/card' }, /must be https \(a\.example\)/],
  [{ card: v1Card(), price: { perCall: -1, currency: 'USD' } }, /price\.perCall/],
  [{ card: v1Card(), rateLimit: { calls: 0, perSeconds: 60 } }, /rateLimit\.calls/],
])('an invalid registration is refused (%#)', async (registration, message) => {
  const refused = registry.register(registration, alice);
  await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID', message: expect.stringMatching(message) });
  await expect(refused).rejects.not.toMatchObject({ message: expect.stringContaining('hush') });
});

test('plain http to an interface is refused unless its host is allowed', async () => {
  const at = (url: string) =>
    v1Card({ supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] });
  const refused = registry.register({ card: at('http://far.example/a2a') }, alice);
  await expect(refused).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  await registry.register({ card: at('http://127.0.0.1:9/a2a') }, alice);
});

test('a redirect to plain http is refused', async () => {
  const { server, url } = await cardServer();
  const elsewhere = await cardServer();
  const fetch = setup.fetch({ allowHosts: ['127.0.0.1', 'localhost'], redirects: 'follow' });
  const strict = await setup.registry({ fetch });
  server.status = 302;
  server.headers = { location: elsewhere.url.replace('127.0.0.1', 'localhost') };
  await expect(strict.register({ cardUrl: url }, alice)).rejects.toMatchObject({
    code: 'CARD_UNAVAILABLE',
    message: expect.stringContaining('must be https'),
  });
  server.headers = { location: elsewhere.url };
  expect(await strict.register({ cardUrl: url }, alice)).toMatchObject({ name: 'Weather' });
});

test.each(['?v=2', '?', '?v=2&w=3', '#top'])(
  'the same agent with "%s" at its address keeps its record and owner',
  async (ending) => {
    const { url } = await cardServer();
    const { id } = await registry.register({ cardUrl: url }, alice);
    expect(await registry.register({ cardUrl: `${url}${ending}` }, alice)).toMatchObject({ id, cardUrl: url });
    await expect(registry.register({ cardUrl: `${url}${ending}` }, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  },
);

test('other spellings of a URL are the same agent', async () => {
  const { url } = await cardServer();
  const { origin, pathname } = new URL(url);
  const { id } = await registry.register({ cardUrl: url }, alice);
  const encoded = pathname.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
  for (const path of [encoded, `/${pathname}`])
    expect((await registry.register({ cardUrl: `${origin}${path}` }, alice)).id).toBe(id);
});

test('agents that their server distinguishes by a parameter are different', async () => {
  const at = (agent: string | null) =>
    v1Card({
      name: `Agent ${agent}`,
      supportedInterfaces: [{ url: `https://a.example/${agent}`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    });
  const base = await setup.serve((request, response) => {
    const agent = new URL(request.url ?? '', 'http://x').searchParams.get('agent');
    response.writeHead(agent === null ? 404 : 200).end(JSON.stringify(at(agent)));
  });
  const register = async (query: string) => registry.register({ cardUrl: `${base}/card?${query}` }, alice);
  const one = await register('agent=1');
  expect((await register('agent=2')).id).not.toBe(one.id);
  expect(await register('agent=1&v=2')).toMatchObject({ id: one.id, cardUrl: `${base}/card?agent=1` });
});

test('a card fetched through a redirect belongs to the target host', async () => {
  const victim = await cardServer();
  const other = await cardServer();
  const following = await setup.registry({ fetch: setup.fetch({ allowHosts: ['127.0.0.1'], redirects: 'follow' }) });
  victim.server.status = 302;
  victim.server.headers = { location: other.url };
  expect(await following.register({ cardUrl: victim.url }, alice)).toMatchObject({ cardUrl: other.url });
});

test('an owner named by the card takes the agent over, without the settings of the first owner', async () => {
  const keeping = await setup.registry({ secretKey: 'a passphrase of the tests' });
  const { server, url } = await cardServer();
  const first = await keeping.register(
    {
      cardUrl: url,
      price: { perCall: 9, currency: 'USD' },
      tags: ['squatted'],
      credentials: [{ type: 'bearer', token: 'of mallory' }],
    },
    { id: 'mallory' },
  );
  await expect(keeping.register({ cardUrl: url }, bob)).rejects.toThrow('params: { owners: ["you"] }');
  const owners = { uri: 'urn:pocket-agent:agent3:owner:1', params: { owners: ['bob'] } };
  server.card = v1Card({ capabilities: { extensions: [owners] } });
  for (const stranger of [{ id: 'mallory' }, alice])
    await expect(keeping.register({ cardUrl: url }, stranger)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const taken = await keeping.register({ cardUrl: url }, bob);
  expect(taken).toMatchObject({ id: first.id, owner: 'bob' });
  expect(taken.tags).not.toContain('squatted');
  expect(taken).not.toHaveProperty('price');
  expect(await keeping.credentials(first.id)).toEqual([]);
  await expect(keeping.unregister(first.id, { id: 'mallory' })).rejects.toMatchObject({ code: 'FORBIDDEN' });
});

test('a card without a URL proves nothing about its owner', async () => {
  const { url } = await cardServer();
  await registry.register({ cardUrl: url }, alice);
  const extensions = [{ uri: 'urn:pocket-agent:agent3:owner:1', params: { owners: ['bob'] } }];
  const { owner, cardUrl } = await registry.register({ card: v1Card({ capabilities: { extensions } }) }, bob);
  expect([owner, cardUrl]).toEqual(['bob', undefined]);
  expect((await registry.search({ query: '' })).totalFound).toBe(2);
});

test('an unavailable card is refused with the reason, within the timeout', async () => {
  const patient = await setup.registry({});
  const hasty = await setup.registry({ cardTimeoutMs: 200 });
  const { server, url } = await cardServer();
  const reason = async () => {
    const error: unknown = await patient.register({ cardUrl: url }, alice).catch((it: unknown) => it);
    expect(error).toMatchObject({ code: 'CARD_UNAVAILABLE' });
    return String(error);
  };
  server.status = 503;
  expect(await reason()).toContain('status 503');
  server.status = 302;
  server.headers = { location: 'http://127.0.0.1:1/' };
  expect(await reason()).toContain('redirects');
  server.status = 200;
  server.headers = {};
  server.card = '{"name": ';
  expect(await reason()).toContain('did not send a JSON object');
  server.card = JSON.stringify(v1Card({ description: 'x'.repeat(300_000) }));
  expect(await reason()).toContain('exceeds the limit of 256 KiB');
  const slow = await setup.serve((_request, response) => void response.writeHead(200).write('{'));
  const started = performance.now();
  await expect(hasty.register({ cardUrl: `${slow}/card` }, alice)).rejects.toThrow('no complete answer within 200 ms');
  expect(performance.now() - started).toBeLessThan(10_000);
  await expect(patient.register({ cardUrl: 'http://127.0.0.1:1/card' }, alice)).rejects.toThrow('ECONNREFUSED');
});

test('a card at a private address is not fetched', async () => {
  const { url, server } = await cardServer();
  const guarded = await setup.registry({ fetch: setup.fetch({}) });
  await expect(guarded.register({ cardUrl: url }, alice)).rejects.toMatchObject({ code: 'CARD_UNAVAILABLE' });
  expect(server.requests).toHaveLength(0);
});

test('registering the same URL again changes only the given fields', async () => {
  const { server, url } = await cardServer();
  const first = await registry.register(
    { cardUrl: url, price: { perCall: 1, currency: 'USD' }, tags: ['one'], idempotent: true },
    alice,
  );
  server.card = v1Card({ name: 'Better Weather' });
  const second = await registry.register({ cardUrl: url, rateLimit: { calls: 1, perSeconds: 1 } }, alice);
  expect(second).toMatchObject({
    id: first.id,
    name: 'Better Weather',
    price: { perCall: 1 },
    rateLimit: { calls: 1 },
    tags: ['one', 'weather', 'forecast'],
  });
  expect((await registry.find(first.id))?.idempotent).toBe(true);
  expect((await registry.search({ query: '' })).totalFound).toBe(1);
});

test('an agent that is removed and registered again keeps its record, even under another owner', async () => {
  const { url } = await cardServer();
  const { id } = await registry.register({ cardUrl: url, price: { perCall: 1, currency: 'USD' } }, alice);
  const rate = async (rating: number, caller: { id: string }) => {
    const receipt = await registry.record(callRecord(id, { caller: caller.id, responseTime: 800 }));
    await registry.feedback({ agentId: id, rating, feedback: `from ${caller.id}`, receipt }, caller);
  };
  for (const rater of ['a', 'b', 'c']) await rate(1, { id: rater });
  const {
    registeredAt: _,
    refreshedAt: __,
    price: ___,
    owner: ____,
    score: _____,
    ...record
  } = await registry.select(id);
  expect(record).toMatchObject({ reputation: 1, totalReviews: 3, metrics: { totalCalls: 3 } });
  for (const owner of [alice, bob, alice]) {
    await registry.unregister(id, admin);
    await expect(registry.select(id)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
    expect(await registry.register({ cardUrl: url }, owner)).toMatchObject({ ...record, owner: owner.id });
  }
  expect(await registry.select(id)).not.toHaveProperty('price');
  await rate(5, alice);
  await rate(4, { id: 'd' });
  expect(await registry.select(id)).toMatchObject({ totalReviews: 4, metrics: { totalCalls: 5 } });
  expect((await registry.search({ query: 'weather', filters: { minReputation: 2 } })).totalFound).toBe(0);
});

test('an agent registered again concurrently in two registries of one file is one agent', async () => {
  const { url } = await cardServer();
  const { id } = await registry.register({ cardUrl: url }, alice);
  await registry.record(callRecord(id));
  await registry.unregister(id, alice);
  const twin = await setup.registry();
  const back = await Promise.all([registry, twin].map((one) => one.register({ cardUrl: url }, alice)));
  expect(back).toMatchObject([
    { id, metrics: { totalCalls: 1 } },
    { id, metrics: { totalCalls: 1 } },
  ]);
});

test('only its owner or an admin may change or remove an agent', async () => {
  const { url } = await cardServer();
  const { id } = await registry.register({ cardUrl: url }, alice);
  await expect(registry.register({ cardUrl: url }, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  await expect(registry.unregister(id, bob)).rejects.toMatchObject({ code: 'FORBIDDEN' });
  const changed = await registry.register({ cardUrl: url, tags: ['by-admin'] }, admin);
  expect(changed).toMatchObject({ id, owner: 'alice' });
  await registry.unregister(id, alice);
  expect(await registry.find(id)).toBeUndefined();
  await expect(registry.select(id)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  await expect(registry.unregister(id, alice)).rejects.toMatchObject({ code: 'AGENT_UNKNOWN' });
  expect((await registry.search({ query: 'weather' })).agents).toEqual([]);
});

test.each<[string, (server: CardServer) => void]>([
  [
    'another card',
    (server) => {
      server.etag = '"two"';
      server.card = v1Card({ name: 'Evil' });
    },
  ],
  ['that its card is the same', () => {}],
  ['an error', (server) => Object.assign(server, { etag: undefined, status: 500 })],
])(
  'a server that answers (%s) when its agent is gone changes nothing of one that came since',
  async (_what, change) => {
    let now = Date.now();
    const clocked = await setup.registry({ now: () => now });
    const slow = await holdingServer();
    slow.server.etag = '"one"';
    const { id } = await clocked.register({ cardUrl: slow.url }, alice);
    now += 600_000;
    const held = slow.hold();
    const refreshing = clocked.fresh(id);
    const answer = await held;
    await clocked.unregister(id, alice);
    const good = await cardServer(v1Card({ name: 'Good' }));
    good.server.headers = { 'cache-control': 'max-age=120' };
    const bobs = await clocked.register({ cardUrl: good.url }, bob);
    slow.server.headers = { 'cache-control': 'max-age=86400' };
    change(slow.server);
    now += 1_000;
    answer();
    await refreshing;
    expect(await clocked.find(id)).toBeUndefined();
    expect(await clocked.select(bobs.id)).toEqual(bobs);
    expect((await clocked.find(bobs.id))?.card.name).toBe('Good');
    expect((await clocked.search({ query: 'evil' })).totalFound).toBe(0);
    now += 100_000;
    await clocked.fresh(bobs.id);
    expect(good.server.requests).toHaveLength(1);
    now += 20_000;
    await clocked.fresh(bobs.id);
    expect(good.server.requests).toHaveLength(2);
  },
);

test('a card fetched for a former owner is not stored for the new owner', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now });
  const slow = await holdingServer();
  const { id } = await clocked.register({ cardUrl: slow.url }, alice);
  await clocked.record(callRecord(id));
  now += 600_000;
  const held = slow.hold();
  const refreshing = clocked.fresh(id);
  const answer = await held;
  await clocked.unregister(id, alice);
  const bobs = await clocked.register({ cardUrl: slow.url }, bob);
  expect(bobs.id).toBe(id);
  slow.server.card = v1Card({ name: 'Evil' });
  answer();
  expect((await refreshing)?.card.name).toBe('Weather');
  expect(await clocked.select(id)).toEqual(bobs);
});

test('a health check of a removed agent does not affect an agent that took its place', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now });
  const slow = await holdingServer();
  const { id } = await clocked.register({ cardUrl: slow.url }, alice);
  const held = slow.hold();
  const checking = clocked.checkHealth();
  const answer = await held;
  await clocked.unregister(id, alice);
  now += 1_000;
  const { url } = await cardServer();
  const bobs = await clocked.register({ cardUrl: url }, bob);
  answer();
  expect(await checking).toBe(1);
  expect((await clocked.select(bobs.id)).health).toBe('unknown');
  expect(await clocked.checkHealth()).toBe(1);
});

test('removing a removed agent does not remove an agent that took its place', async () => {
  const { id } = await registry.register({ card: v1Card() }, alice);
  await setup.between(
    () => registry.unregister(id, alice),
    (transaction) =>
      transaction
        .updateTable('agent3_agents')
        .set({ id: 'of-bob', identity: 'of bob', owner: 'bob' })
        .where('id', '=', id)
        .execute(),
  );
  expect(await registry.find(id)).toBeUndefined();
  expect(await registry.select('of-bob')).toMatchObject({ owner: 'bob' });
});

test('a former owner cannot remove an agent that another owner registered again', async () => {
  const { id } = await registry.register({ card: v1Card() }, alice);
  const removing = setup.between(
    () => registry.unregister(id, alice),
    (transaction) => transaction.updateTable('agent3_agents').set({ owner: 'bob' }).where('id', '=', id).execute(),
  );
  await expect(removing).rejects.toMatchObject({ code: 'FORBIDDEN' });
  expect(await registry.select(id)).toMatchObject({ owner: 'bob' });
});

test('cards without a URL are distinguished by owner, address and name', async () => {
  const one = await registry.register({ card: v1Card() }, alice);
  const again = await registry.register({ card: v1Card({ description: 'new' }) }, alice);
  const other = await registry.register({ card: v1Card() }, bob);
  expect(again.id).toBe(one.id);
  expect(other.id).not.toBe(one.id);
});

test('the same agent registered concurrently in two registries of one file is one agent', async () => {
  const { url } = await cardServer();
  const twin = await setup.registry();
  const [one, two] = await Promise.all([
    registry.register({ cardUrl: url }, alice),
    twin.register({ cardUrl: url }, alice),
  ]);
  expect(one.id).toBe(two.id);
  expect((await twin.search({ query: '' })).totalFound).toBe(1);
});

test('third-party text is shown without deceptive characters', async () => {
  const details = await registry.register(
    { card: v1Card({ name: 'We\u202eat\u001b[31mher', description: 'a\u200bb' }) },
    alice,
  );
  expect(details).toMatchObject({ name: 'Weather', description: 'ab' });
});

test('a fresh card is not fetched again; a stale one is, with its ETag', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now });
  const { server, url } = await cardServer();
  server.etag = '"one"';
  server.headers = { 'cache-control': 'max-age=120' };
  const { id } = await clocked.register({ cardUrl: url }, alice);
  now += 119_000;
  await clocked.fresh(id);
  expect(server.requests).toHaveLength(1);
  now += 2_000;
  const [one, two] = await Promise.all([clocked.fresh(id), clocked.fresh(id)]);
  expect(server.requests).toHaveLength(2);
  expect(server.requests[1]?.headers['if-none-match']).toBe('"one"');
  expect(one).toEqual(two);
  expect((await clocked.select(id)).refreshedAt).toBe(new Date(now).toISOString());
  await clocked.fresh(id);
  expect(server.requests).toHaveLength(2);
  now += 121_000;
  server.etag = '"two"';
  server.card = v1Card({ name: 'Changed', version: '2' });
  const changed = await clocked.fresh(id);
  expect(changed?.card.name).toBe('Changed');
  expect(changed?.digest).not.toBe(one?.digest);
  expect((await clocked.search({ query: 'changed' })).agents[0]?.id).toBe(id);
});

test('while a card cannot be fetched, the old one stays in use, and it is retried once a minute', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now, maxStaleMs: 3_600_000 });
  const { server, url } = await cardServer();
  const { id } = await clocked.register({ cardUrl: url }, alice);
  server.card = { lies: true };
  now += 600_000;
  expect((await clocked.fresh(id))?.card.name).toBe('Weather');
  await clocked.fresh(id);
  expect(server.requests).toHaveLength(2);
  now += 3_600_000;
  await expect(clocked.fresh(id)).rejects.toMatchObject({
    code: 'CARD_UNAVAILABLE',
    message: expect.stringMatching(/"Weather" is too old.*A2A 1\.0/),
  });
  now += 59_000;
  await expect(clocked.fresh(id)).rejects.toThrow(/"Weather" is too old.*in a minute/);
  expect(server.requests).toHaveLength(3);
  server.card = v1Card({ name: 'Back' });
  now += 1_000;
  expect((await clocked.fresh(id))?.card.name).toBe('Back');
});

test('a card of the maximum age is fetched again, whatever its server says', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now, maxStaleMs: 3_600_000 });
  const { server, url } = await cardServer();
  server.headers = { 'cache-control': 'max-age=86400' };
  const { id } = await clocked.register({ cardUrl: url }, alice);
  now += 3_599_000;
  await clocked.fresh(id);
  expect(server.requests).toHaveLength(1);
  now += 1_000;
  await clocked.fresh(id);
  expect(server.requests).toHaveLength(2);
});

test('an aborted wait for a card does not affect other callers', async () => {
  let now = Date.now();
  const clocked = await setup.registry({ now: () => now });
  let answer: (() => void) | undefined;
  const arrived = Promise.withResolvers<void>();
  const server = new CardServer(v1Card());
  let isSlow = false;
  const base = await setup.serve((request, response) => {
    if (!isSlow) return server.listener(request, response);
    answer = () => server.listener(request, response);
    return arrived.resolve();
  });
  const { id } = await clocked.register({ cardUrl: `${base}/card` }, alice);
  isSlow = true;
  now += 600_000;
  const hasty = new AbortController();
  const [given, patient] = [clocked.fresh(id, hasty.signal), clocked.fresh(id)];
  await arrived.promise;
  hasty.abort(new Error('enough'));
  await expect(given).rejects.toThrow('enough');
  answer?.();
  expect((await patient)?.agentId).toBe(id);
});

test('a registry that is closed does not wait for a card', async () => {
  const arrived = Promise.withResolvers<void>();
  const base = await setup.serve(() => arrived.resolve());
  const closing = await setup.registry();
  const registering = closing.register({ cardUrl: `${base}/card` }, alice).catch((error: unknown) => error);
  await arrived.promise;
  await closing.close();
  expect(await registering).toBeInstanceOf(Error);
});

test('due agents are checked as up or down, by one registry only', async () => {
  let now = Date.now();
  const options = { now: () => now, healthChecks: false } as const;
  const [one, two] = [await setup.registry(options), await setup.registry(options)];
  const { server, url } = await cardServer();
  const byUrl = await one.register({ cardUrl: url }, alice);
  const silent = await setup.serve((request) => request.socket.destroy());
  const gone = v1Card({ supportedInterfaces: [{ url: silent, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }] });
  const byCard = await one.register({ card: gone }, alice);
  const counts = await Promise.all([one.checkHealth(), two.checkHealth()]);
  expect(counts.reduce((sum, count) => sum + count)).toBe(2);
  expect(server.requests).toHaveLength(2);
  expect((await one.select(byUrl.id)).health).toBe('up');
  expect((await one.select(byCard.id)).health).toBe('down');
  expect((await one.search({ query: 'weather', filters: { healthy: true } })).agents.map(({ id }) => id)).toEqual([
    byUrl.id,
  ]);
  expect(await one.checkHealth()).toBe(0);
  server.status = 500;
  now += 400_000;
  expect(await two.checkHealth()).toBe(2);
  expect((await one.select(byUrl.id)).health).toBe('down');
  expect((await one.health()).network).toMatchObject({ totalAgents: 2, activeAgents: 0 });
});

test('an agent that lists gRPC first is checked at its http interface', async () => {
  const registry = await setup.registry();
  const supportedInterfaces = [
    { url: 'grpc.example:443', protocolBinding: 'GRPC', protocolVersion: '1.0' },
    {
      url: await setup.serve((_, response) => void response.end()),
      protocolBinding: 'JSONRPC',
      protocolVersion: '1.0',
    },
  ];
  const { id } = await registry.register({ card: v1Card({ supportedInterfaces }) }, alice);
  await registry.checkHealth();
  expect((await registry.select(id)).health).toBe('up');
});

test('health checks run periodically until the registry is closed', async () => {
  const { server, url } = await cardServer();
  const busy = await setup.registry({ healthChecks: { intervalMs: 20 } });
  await busy.register({ cardUrl: url }, alice);
  await server.asked(3);
  await busy.close();
  const { length } = server.requests;
  await passed(60);
  expect(server.requests).toHaveLength(length);
});

test('a check interrupted by closing does not mark the agent as down, and the next registry repeats it', async () => {
  const slow = await holdingServer();
  const { id } = await registry.register({ cardUrl: slow.url }, alice);
  expect(await registry.checkHealth()).toBe(1);
  const now = () => Date.now() + 86_400_000;
  const held = slow.hold();
  const closed = await setup.registry({ now, healthChecks: { intervalMs: 20 } });
  await held;
  await closed.close();
  expect((await registry.select(id)).health).toBe('up');
  expect(await (await setup.registry({ now })).checkHealth()).toBe(1);
});

test('a round of checks ends even if agents become due again during it', async () => {
  let now = Date.now();
  const concurrency = 1;
  const clocked = await setup.registry({ now: () => now, healthChecks: { intervalMs: 300_000, concurrency } });
  const server = new CardServer(v1Card());
  const base = await setup.serve((request, response) => {
    if (server.requests.length < 20) now += 400_000; // each check takes this long
    server.listener(request, response);
  });
  for (const name of ['one', 'two', 'three']) await clocked.register({ cardUrl: `${base}/${name}` }, alice);
  now += 400_000;
  expect(await clocked.checkHealth()).toBe(3);
});

test('expired rows are deleted while a health check waits for an agent', async () => {
  const { url, hold } = await holdingServer();
  await registry.register({ cardUrl: url }, alice);
  const held = hold();
  let now = Date.now();
  const busy = await setup.registry({ now: () => now, healthChecks: { intervalMs: 20 }, cardTimeoutMs: 60_000 });
  const task = { taskHandle: 'h', agentId: 'a', caller: 'bob', taskId: 't', state: 'working', updatedAt: now } as const;
  await busy.saveTask(task);
  await held;
  now += 8 * 86_400_000;
  const { db } = await setup.store();
  await expect.poll(() => db.selectFrom('agent3_tasks').selectAll().execute()).toEqual([]);
});
