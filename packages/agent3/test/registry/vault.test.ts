import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import type { CardJson, Credential } from '../../src/base/agents.ts';
import { v1Card } from '../fixtures/registry-cards.ts';
import { alice, CardServer, Setup } from '../fixtures/registry-setup.ts';

const setup = new Setup();
afterEach(() => setup.end());

const key = () => randomBytes(32).toString('base64');
const credentials: Credential[] = [
  { type: 'bearer', token: 'hush-bearer' },
  { type: 'basic', username: 'me', password: 'hush-basic' },
];

function at(host: string, change: CardJson = {}): CardJson {
  return v1Card({
    supportedInterfaces: [{ url: `https://${host}/a2a`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    securitySchemes: {
      login: { httpAuthSecurityScheme: { scheme: 'Bearer' } },
      key: { apiKeySecurityScheme: { location: 'header', name: 'X-Key' } },
    },
    securityRequirements: [{ schemes: { login: { list: [] } } }, { schemes: { key: {} } }],
    ...change,
  });
}

test.each([key(), randomBytes(32).toString('hex'), 'correct horse battery staple'])(
  'credentials come back with the same key, also in another process (%#)',
  async (secretKey) => {
    const registry = await setup.registry({ secretKey });
    const { id } = await registry.register({ card: at('a.example'), credentials }, alice);
    await registry.close();
    const later = await setup.registry({ secretKey });
    expect(await later.credentials(id)).toEqual(credentials);
    expect(await later.credentials('unknown')).toEqual([]);
  },
);

test('no secret is in the files, in responses or in errors', async () => {
  const registry = await setup.registry({ secretKey: key() });
  const { id } = await registry.register({ card: at('a.example'), credentials }, alice);
  const shown = JSON.stringify([
    await registry.select(id),
    await registry.invoke(id),
    await registry.search({ query: '' }),
    await registry.find(id),
    await registry.health(),
  ]);
  const bad = { type: 'bearer', token: 'hush-bearer', scheme: 7 } as unknown as Credential;
  const error: unknown = await registry
    .register({ card: at('b.example'), credentials: [bad] }, alice)
    .catch((it) => it);
  expect(error).toMatchObject({ code: 'INPUT_INVALID' });
  await registry.close();
  const folder = await setup.folder();
  for (const file of await readdir(folder)) expect(await readFile(join(folder, file), 'latin1')).not.toContain('hush');
  expect(`${shown} ${String(error)} ${JSON.stringify(error)}`).not.toContain('hush');
});

test('an invocation says what a call needs and whether it is available', async () => {
  const registry = await setup.registry({ secretKey: key() });
  const authentication = async (card: CardJson, given?: Credential[]) => {
    const { id } = await registry.register({ card, ...(given ? { credentials: given } : {}) }, alice);
    return (await registry.invoke(id)).authentication;
  };
  const schemes = ['bearer', 'apiKey'];
  expect(await authentication(at('a.example'))).toEqual({
    schemes,
    required: true,
    available: false,
    sends: [],
    problem: expect.stringContaining('no credentials are registered'),
  });
  expect(await authentication(at('a.example'), credentials)).toEqual({
    schemes,
    required: true,
    available: true,
    sends: ['bearer'],
  });
  expect(await authentication(at('b.example'), [{ type: 'apiKey', key: 'k', scheme: 'key' }])).toMatchObject({
    available: true,
  });
  expect(await authentication(at('c.example'), [{ type: 'basic', username: 'u', password: 'p' }])).toMatchObject({
    available: false,
  });
  const unfit = await authentication(at('e.example'), [{ type: 'apiKey', key: 'k', scheme: 'login' }]);
  expect(unfit.available).toBe(false);
  const optional = at('d.example', { securityRequirements: [{ schemes: { key: {} } }, {}] });
  expect(await authentication(optional)).toMatchObject({ schemes: ['apiKey'], required: false, available: true });
  const nothing = { schemes: [], required: false, available: true };
  expect(await authentication(v1Card())).toEqual({ ...nothing, sends: [] });
  expect(await authentication(v1Card(), credentials)).toEqual({ ...nothing, sends: ['bearer'] });
  expect(await authentication(v1Card(), [{ type: 'apiKey', key: 'k' }])).toMatchObject({
    available: false,
    sends: [],
    problem: expect.stringContaining('does not say where an API key goes'),
  });
});

test('without a key, credentials are refused with advice, and nothing is registered', async () => {
  const registry = await setup.registry();
  const refused = registry.register({ card: at('a.example'), credentials }, alice);
  await expect(refused).rejects.toMatchObject({
    code: 'SECRET_KEY',
    message: expect.stringContaining('AGENT3_SECRET_KEY'),
  });
  expect((await registry.search({ query: '' })).totalFound).toBe(0);
  await expect(setup.registry({ secretKey: 'short' })).rejects.toMatchObject({ code: 'SECRET_KEY' });
});

test('a new key re-encrypts what an old key encrypted', async () => {
  const [old, fresh] = [key(), key()];
  const before = await setup.registry({ secretKey: old });
  const { id } = await before.register({ card: at('a.example'), credentials }, alice);
  await expect((await setup.registry({ secretKey: fresh })).credentials(id)).rejects.toMatchObject({
    code: 'SECRET_KEY',
  });
  const rotating = await setup.registry({ secretKey: fresh, oldSecretKeys: [old] });
  expect(await rotating.credentials(id)).toEqual(credentials);
  expect(await (await setup.registry({ secretKey: fresh })).credentials(id)).toEqual(credentials);
});

test('credentials removed during re-encryption do not come back', async () => {
  const [old, fresh] = [key(), key()];
  const before = await setup.registry({ secretKey: old });
  const { id } = await before.register({ card: at('a.example'), credentials }, alice);
  const rotating = await setup.registry({ secretKey: fresh, oldSecretKeys: [old] });
  await setup.between(
    () => rotating.credentials(id),
    (transaction) => transaction.deleteFrom('agent3_credentials').execute(),
  );
  expect(await rotating.credentials(id)).toEqual([]);
});

test('credentials are not used for a host the card did not name at registration', async () => {
  let now = Date.now();
  const registry = await setup.registry({ secretKey: key(), now: () => now });
  const server = new CardServer(at('good.example'));
  const base = await setup.serve(server.listener);
  const registration = { cardUrl: `${base}/card`, credentials };
  const { id } = await registry.register(registration, alice);
  expect(await registry.credentials(id)).toEqual(credentials);
  server.card = at('evil.example');
  now += 600_000;
  await registry.fresh(id);
  expect(await registry.credentials(id)).toEqual([]);
  expect((await registry.invoke(id)).authentication.available).toBe(false);
  await registry.register(registration, alice);
  expect(await registry.credentials(id)).toEqual(credentials);
});

test('credentials for another host are reported as missing', async () => {
  const registry = await setup.registry({ secretKey: key() });
  const base = await setup.serve(new CardServer(at('elsewhere.example')).listener);
  const available = async (given: Credential) => {
    const { id } = await registry.register({ cardUrl: `${base}/card`, credentials: [given] }, alice);
    return (await registry.invoke(id)).authentication.available;
  };
  expect(await available({ type: 'bearer', token: 'hush' })).toBe(false);
  expect(await available({ type: 'bearer', token: 'hush', host: 'other.example' })).toBe(false);
  expect(await available({ type: 'bearer', token: 'hush', host: 'elsewhere.example' })).toBe(true);
});
