import { AgentCard, generateAgentCardSignature } from '@a2a-js/sdk';
import { canonicalJson } from '@pocket-agent/a2a/client';
import { exportJWK, FlattenedSign, generateKeyPair } from 'jose';
import { afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import type { CardJson } from '../../src/base/agents.ts';
import type { Registry } from '../../src/registry/registry.ts';
import { v1Card, v03Card } from '../fixtures/registry-cards.ts';
import { alice, CardServer, Setup } from '../fixtures/registry-setup.ts';

type KeyPair = Awaited<ReturnType<typeof generateKeyPair>>;
const setup = new Setup();
let keys: KeyPair;
let server: CardServer;
let base: string;
let registry: Registry;

beforeAll(async () => {
  keys = await generateKeyPair('ES256', { extractable: true });
});

beforeEach(async () => {
  server = new CardServer(v1Card());
  base = await setup.serve(server.listener);
  server.files['/keys'] = { keys: [await publicKey(keys, 'one')] };
  registry = await setup.registry();
});

afterEach(() => setup.end());

async function publicKey({ publicKey: key }: KeyPair, kid: string) {
  return { ...(await exportJWK(key)), kid };
}

async function signed(
  card: CardJson,
  header: CardJson = {},
  by = keys,
  payload = canonicalJson(card),
): Promise<CardJson> {
  const { protected: encoded, signature } = await new FlattenedSign(new TextEncoder().encode(payload))
    .setProtectedHeader({ alg: 'ES256', typ: 'JOSE', kid: 'one', jku: `${base}/keys`, ...header })
    .sign(by.privateKey);
  return { ...card, signatures: [{ protected: encoded, signature }] };
}

const secured = v1Card({
  securitySchemes: { login: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { login: { list: ['read'] } } }],
});

async function register(card: CardJson): Promise<boolean> {
  server.card = card;
  return (await registry.register({ cardUrl: `${base}/card` }, alice)).verified;
}

test('keys behind an open redirect do not verify a card', async () => {
  const mallory = await generateKeyPair('ES256', { extractable: true });
  const theirs = await setup.serve(async (_request, response) => {
    response.end(JSON.stringify({ keys: [await publicKey(mallory, 'one')] }));
  });
  const redirects = await setup.serve((request, response) => {
    const to = new URL(request.url ?? '', 'http://x').searchParams.get('to');
    if (to !== null) response.writeHead(302, { location: to }).end();
    else response.end('{}');
  });
  const following = await setup.registry({ fetch: setup.fetch({ allowHosts: ['127.0.0.1'], redirects: 'follow' }) });
  const card = v1Card({
    supportedInterfaces: [{ url: `${redirects}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
  });
  const jku = `${redirects}/go?to=${encodeURIComponent(theirs)}`;
  expect((await following.register({ card: await signed(card, { jku }, mallory) }, alice)).verified).toBe(false);
});

test('a card signed by a key of its own host is verified, and one without a signature is not', async () => {
  expect(await register(await signed(secured))).toBe(true);
  expect((await registry.search({ query: '', filters: { verified: true } })).totalFound).toBe(1);
  expect(await register(secured)).toBe(false);
  expect((await registry.search({ query: '', filters: { verified: true } })).totalFound).toBe(0);
});

test('order, spaces and escapes do not matter (RFC 8785)', async () => {
  const { signatures, ...card } = await signed(
    v1Card({ description: 'ö €  \u{1f600} "x"', extra: { n: 1e21, m: 0.1 } }),
  );
  const turned = Object.fromEntries(Object.entries({ ...card, signatures }).reverse());
  server.card = JSON.stringify(turned, null, 3).replaceAll('ö', '\\u00f6');
  expect((await registry.register({ cardUrl: `${base}/card` }, alice)).verified).toBe(true);
});

test.each<[string, (card: CardJson) => CardJson]>([
  ['its name', (card) => ({ ...card, name: 'Other' })],
  [
    'where it is called',
    (card) => ({
      ...card,
      supportedInterfaces: [{ url: 'https://evil.example/', protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    }),
  ],
  [
    'how to authenticate',
    (card) => ({ ...card, securitySchemes: { login: { apiKeySecurityScheme: { location: 'query', name: 'k' } } } }),
  ],
  ['an unknown field', (card) => ({ ...card, price: 0 })],
])('a card in which %s was changed after signing is refused', async (_what, change) => {
  const refused = register(change(await signed(secured)));
  await expect(refused).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
  expect((await registry.search({ query: '' })).totalFound).toBe(0);
});

test('a signature by another key with the same id is refused', async () => {
  const others = await generateKeyPair('ES256');
  await expect(register(await signed(secured, {}, others))).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
});

test('only a few of many keys with the same id are tried, because each costs time', async () => {
  const others = await Promise.all([1, 2, 3].map(() => generateKeyPair('ES256', { extractable: true })));
  const [one, two, three] = await Promise.all(others.map((other) => publicKey(other, 'one')));
  const right = await publicKey(keys, 'one');
  server.files['/keys'] = { keys: [one, two, right, three] };
  expect(await register(await signed(secured))).toBe(true);
  server.files['/keys'] = { keys: [one, two, three, right] };
  await expect(register(await signed(secured))).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
});

test('keys of other origins, missing keys and unknown algorithms verify nothing', async () => {
  const elsewhere = new CardServer('');
  elsewhere.files['/keys'] = server.files['/keys'];
  const other = await setup.serve(elsewhere.listener);
  expect(await register(await signed(secured, { jku: `${other}/keys` }))).toBe(false);
  expect(elsewhere.requests).toHaveLength(0);
  expect(await register(await signed(secured, { kid: 'two' }))).toBe(false);
  expect(await register(await signed(secured, { jku: undefined }))).toBe(false);
  const none = Buffer.from(JSON.stringify({ alg: 'none', kid: 'one', jku: `${base}/keys` })).toString('base64url');
  expect(await register({ ...secured, signatures: [{ protected: none, signature: '' }] })).toBe(false);
  expect(await register({ ...secured, signatures: ['nonsense', { protected: '%', signature: 1 }] })).toBe(false);
});

test('a public key is not accepted as an HMAC secret', async () => {
  const header = Buffer.from(JSON.stringify({ alg: 'HS256', kid: 'one', jku: `${base}/keys` })).toString('base64url');
  expect(await register({ ...secured, signatures: [{ protected: header, signature: 'AAAA' }] })).toBe(false);
});

test('a configured key counts for every card, even without a URL', async () => {
  const trusting = await setup.registry({ trustedKeys: [await publicKey(keys, 'one')] });
  const card = await signed(v03Card(), { jku: undefined });
  expect((await trusting.register({ card }, alice)).verified).toBe(true);
  const changed = trusting.register({ card: { ...card, url: 'https://evil.example/' } }, alice);
  await expect(changed).rejects.toMatchObject({ code: 'SIGNATURE_INVALID' });
});

test('a card signed by the official SDK is verified', async () => {
  const sign = generateAgentCardSignature(keys.privateKey, {
    alg: 'ES256',
    typ: 'JOSE',
    kid: 'one',
    jku: `${base}/keys`,
  });
  // the typed form of the SDK loses security schemes, so this card has none
  const plain = v1Card({ documentationUrl: '', skills: [] });
  const { signatures } = await sign(AgentCard.fromJSON(plain));
  const [first] = signatures;
  expect(await register({ ...plain, signatures: [{ protected: first?.protected, signature: first?.signature }] })).toBe(
    true,
  );
});

test('a card is not verified if dropping empty values drops its security fields', async () => {
  const open = v1Card({ securityRequirements: [{ schemes: { login: { list: [] } } }] });
  const { securityRequirements: _left, ...rest } = open;
  const card = await signed(open, {}, keys, canonicalJson(rest));
  expect(await register(card)).toBe(false);
  expect(await register(await signed(open))).toBe(true);
});

test.each(['RS256', 'PS256', 'EdDSA', 'ES512'])('signatures with %s are supported', async (alg) => {
  const others = await generateKeyPair(alg, { extractable: true });
  server.files['/keys'] = { keys: [await publicKey(others, 'one')] };
  expect(await register(await signed(secured, { alg }, others))).toBe(true);
});

test('a card that loses its signature is no longer verified, and one with a broken signature is refused', async () => {
  let now = Date.now();
  registry = await setup.registry({ now: () => now });
  expect(await register(await signed(secured))).toBe(true);
  const [agent] = (await registry.search({ query: '' })).agents;
  server.card = { ...(server.card as CardJson), name: 'Evil' };
  now += 600_000;
  expect(await registry.fresh(agent?.id ?? '')).toMatchObject({ verified: true, card: { name: 'Weather' } });
  server.card = v1Card({ name: 'Unsigned' });
  now += 600_000;
  expect(await registry.fresh(agent?.id ?? '')).toMatchObject({ verified: false, card: { name: 'Unsigned' } });
});
