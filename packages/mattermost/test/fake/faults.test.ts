// Faults of the fake occur on command and leave nothing behind.
import { get } from 'node:https';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type FakeMattermost, startFakeMattermost } from './fake-mattermost.ts';
import { selfSigned } from './self-signed.ts';
import { userOf } from './test-client.ts';

let fake: FakeMattermost;

beforeEach(async () => {
  fake = await startFakeMattermost();
});

afterEach(() => fake.close());

function me(init: RequestInit = {}): Promise<Response> {
  return fetch(`${fake.url}/api/v4/users/me`, { headers: { Authorization: `Bearer ${fake.token('alice')}` }, ...init });
}

test('a fault hits matching requests the given number of times', async () => {
  const fault = fake.fail({ path: /\/users\/me$/, status: 429, headers: { 'Retry-After': '3' }, times: 2 });
  const first = await me();
  expect([first.status, first.headers.get('retry-after'), await first.text()]).toEqual([429, '3', 'limit exceeded\n']);
  expect((await userOf(fake, 'alice').get('/users/me/teams')).status).toBe(200);
  expect((await me()).status).toBe(429);
  expect((await me()).status).toBe(200);
  expect(fault.hits).toBe(2);
  fake.fail({ status: 503, times: Infinity }).cancel();
  expect((await me()).status).toBe(200);
});

test('above the rate limit requests of a token are refused, with the time to wait', async () => {
  const limited = await startFakeMattermost({ rateLimit: { perSecond: 0.01, burst: 2 } });
  onTestFinished(() => limited.close());
  const statuses: number[] = [];
  for (let count = 0; count < 4; count++) statuses.push((await userOf(limited, 'alice').get('/users/me')).status);
  expect(statuses).toEqual([200, 200, 200, 429]);
  expect((await userOf(limited, 'bob').get('/users/me')).status).toBe(200);
  const refused = await fetch(limited.url, { headers: { Authorization: `Bearer ${limited.token('alice')}` } });
  expect(refused.headers.get('retry-after')).toMatch(/^(100|99)$/);
});

test('a post can be stored although the response is an error', async () => {
  const post = { channel_id: fake.channel('town-square').id, message: 'stored', pending_post_id: 'p' };
  const alice = userOf(fake, 'alice');
  const stored = () => [...fake.world.posts.values()].filter(({ message }) => message === 'stored').length;
  fake.fail({ method: 'POST', status: 503 });
  expect((await alice.post('/posts', post)).status).toBe(503);
  expect(stored()).toBe(0);
  fake.fail({ method: 'POST', status: 503, afterHandling: true });
  expect((await alice.post('/posts', post)).status).toBe(503);
  expect(stored()).toBe(1);
  fake.fail({ method: 'POST', reset: 'before', afterHandling: true });
  await expect(alice.post('/posts', { ...post, message: 'stored', pending_post_id: 'q' })).rejects.toThrow();
  expect(stored()).toBe(2);
});

test('connections break before the response, after the headers, or within the body', async () => {
  fake.fail({ reset: 'before' });
  await expect(me()).rejects.toThrow('fetch failed');
  for (const reset of ['headers', 'mid-body'] as const) {
    fake.fail({ reset });
    const response = await me();
    expect(response.status).toBe(200);
    await expect(response.text()).rejects.toThrow();
  }
  expect((await me()).status).toBe(200);
});

test('bodies can be slow, wrong or late', async () => {
  fake.fail({ slowBodyMs: 10 });
  expect(await (await me()).json()).toMatchObject({ username: 'alice' });
  fake.fail({ slowBodyMs: 600_000 });
  const controller = new AbortController();
  const slow = await me({ signal: controller.signal });
  expect(slow.status).toBe(200);
  const body = slow.text();
  controller.abort();
  await expect(body).rejects.toThrow();
  fake.fail({ status: 200, body: '<html>', headers: { 'Content-Type': 'text/html' } });
  expect(await (await me()).text()).toBe('<html>');
  fake.fail({ delayMs: 60_000 });
  await expect(me({ signal: AbortSignal.timeout(30) })).rejects.toThrow();
});

test('every request is recorded without its token', async () => {
  const alice = userOf(fake, 'alice');
  await alice.post('/users/ids?since=5', [fake.user('bob').id]);
  await fetch(`${fake.url}/api/v4/users/me`, { headers: { Authorization: 'Bearer wrong' } });
  expect(fake.requests).toMatchObject([
    { method: 'POST', path: '/api/v4/users/ids', query: { since: '5' }, user: 'alice', status: 200 },
    { method: 'GET', path: '/api/v4/users/me', user: undefined, status: 401 },
  ]);
  expect(fake.requests[0]?.json).toEqual([fake.user('bob').id]);
  expect(JSON.stringify(fake.requests)).not.toMatch(new RegExp(`${fake.token('alice')}|wrong`));
});

test('an unknown path is a 404 and is recorded', async () => {
  expect((await userOf(fake, 'alice').get('/users/me/nonsense')).status).toBe(404);
  expect(fake.unanswered).toEqual(['GET /api/v4/users/me/nonsense']);
});

test('requests in flight are counted', async () => {
  fake.fail({ delayMs: 600_000, times: 5 });
  const controller = new AbortController();
  const all = Array.from({ length: 5 }, () => me({ signal: controller.signal }));
  const settled = Promise.allSettled(all);
  await expect.poll(() => fake.inFlight).toBe(5);
  controller.abort();
  await settled;
  await expect.poll(() => fake.inFlight).toBe(0);
  expect(fake.maxInFlight).toBe(5);
});

test('over TLS only clients that trust its certificate connect', async () => {
  const tls = selfSigned();
  const secure = await startFakeMattermost({ tls });
  const status = (ca?: string) =>
    new Promise<number | undefined>((resolve, reject) => {
      const options = { agent: false, ...(ca ? { ca } : {}) };
      get(`${secure.url}/api/v4/system/ping`, options, (response) => {
        response.resume().once('end', () => resolve(response.statusCode));
      }).once('error', reject);
    });
  expect(await status(tls.cert)).toBe(200);
  await expect(status()).rejects.toThrow('self-signed certificate');
  await secure.close();
});

test('closing ends open requests and connections', async () => {
  const servers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'TCPServerWrap').length;
  const before = servers();
  const own = await startFakeMattermost();
  own.fail({ delayMs: 60_000 });
  const pending = fetch(`${own.url}/api/v4/system/ping`);
  const failed = expect(pending).rejects.toThrow();
  await expect.poll(() => own.inFlight).toBe(1);
  await own.close();
  await failed;
  await expect(fetch(`${own.url}/api/v4/system/ping`)).rejects.toThrow();
  expect(servers()).toBeLessThanOrEqual(before); // servers of earlier test files may still be closing
});
