// Requests under faults: what is retried, what is not, and which error the agent gets.
import { expect, test } from 'vitest';
import { type Connection, connectForTest } from '../connect.ts';

const postCount = ({ fake }: Connection) => fake.world.posts.size;
const requestsTo = ({ fake }: Connection, path: RegExp, method = 'GET') =>
  fake.requests.filter((request) => request.method === method && path.test(request.path));

test.each([429, 500, 502, 503, 504])('a read is retried after %d', async (status) => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status, times: 3 });
  expect((await connection.call('get_me')).data.username).toBe('alice');
  expect(requestsTo(connection, /users\/me/)).toHaveLength(4);
});

test.each([400, 403, 404, 408, 501])('a read is not retried after %d', async (status) => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status, times: 3 });
  expect((await connection.call('get_me')).isError).toBe(true);
  expect(requestsTo(connection, /users\/me/)).toHaveLength(1);
});

test.each(['before', 'headers', 'mid-body'] as const)(
  'a read with an interrupted response (%s) is retried',
  async (reset) => {
    const connection = await connectForTest();
    connection.fake.fail({ path: /users\/me/, reset, times: 3 });
    expect((await connection.call('get_me')).data.username).toBe('alice');
  },
);

test('a slow response ends at the deadline, also within its body', async () => {
  const connection = await connectForTest({ config: { timeoutMs: 100 } });
  connection.fake.fail({ path: /users\/me/, slowBodyMs: 600_000 });
  const { isError, text } = await connection.call('get_me');
  expect(isError).toBe(true);
  expect(text).toContain('longer than 0.1 s');
});

test('Retry-After is respected', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status: 429, headers: { 'Retry-After': '1' } });
  const started = performance.now();
  await connection.call('get_me');
  expect(performance.now() - started).toBeGreaterThan(950);
});

test('a long Retry-After is reported to the agent instead', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status: 429, headers: { 'Retry-After': '3600' } });
  const { text } = await connection.call('get_me');
  expect(text).toMatch(/^Rate limit exceeded \(status=429\)\. Wait 3600 seconds/);
  expect(requestsTo(connection, /users\/me/)).toHaveLength(1);
});

test('Retry-After may be a date; a past date means no wait', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status: 503, headers: { 'Retry-After': 'Wed, 21 Oct 2015 07:28:00 GMT' } });
  connection.fake.fail({ path: /users\/me/, status: 503, headers: { 'Retry-After': 'soon' } });
  expect((await connection.call('get_me')).isError).toBe(false);
});

test.each(['0', '-5', '0.01', 'Wed, 21 Oct 2015 07:28:00 GMT'])(
  'Retry-After: %s still waits with growing backoff',
  async (header) => {
    const connection = await connectForTest({ config: { backoffMs: 40 } });
    connection.fake.fail({ path: /users\/me/, status: 429, headers: { 'Retry-After': header }, times: 3 });
    const started = performance.now();
    expect((await connection.call('get_me')).isError).toBe(false);
    expect(performance.now() - started).toBeGreaterThan(20 + 40 + 80 - 10);
  },
);

test.each([
  ['answered with 503', { status: 503 }, 1],
  ['answered with 429', { status: 429 }, 3],
  ['broken off before the answer', { reset: 'before' }, 1],
  ['broken off in its body', { reset: 'mid-body' }, 1],
  ['lost with the server, which starts again', { restart: true }, 1],
] as const)('a post that was stored and then %s is there once', async (_, fault, requests) => {
  const connection = await connectForTest();
  const before = postCount(connection);
  connection.fake.fail({ method: 'POST', path: /posts$/, afterHandling: true, times: 2, ...fault });
  const { isError, data } = await connection.call('post_message', {
    channel_id: connection.fake.channel('off-topic').id,
    message: 'Once',
  });
  expect(isError).toBe(false);
  expect(postCount(connection)).toBe(before + 1);
  expect(connection.fake.world.posts.has(data.id)).toBe(true);
  expect(requestsTo(connection, /posts$/, 'POST')).toHaveLength(requests);
});

test('a post that was not stored is retried after a check that ignores posts of other users', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  fake.say('alice', 'off-topic', 'Once');
  fake.fail({ method: 'POST', path: /posts$/, reset: 'before' });
  const args = { channel_id: fake.channel('off-topic').id, message: 'Once' };
  const { data } = await connection.call('post_message', args);
  const posts = (fake.world.timeline.get(args.channel_id) ?? []).filter(({ message }) => message === 'Once');
  expect(posts).toHaveLength(2);
  expect(posts.at(-1)?.id).toBe(data.id);
});

test('a post is not retried if the check fails', async () => {
  const connection = await connectForTest();
  const before = postCount(connection);
  connection.fake.fail({ method: 'POST', path: /posts$/, restart: true });
  connection.fake.fail({ method: 'GET', path: /channels\/\w+\/posts/, status: 503, times: 4 });
  const args = { channel_id: connection.fake.channel('off-topic').id, message: 'Once' };
  expect((await connection.call('post_message', args)).text).toContain('check before you repeat it');
  expect(requestsTo(connection, /posts$/, 'POST')).toHaveLength(1);
  expect(postCount(connection)).toBe(before + 1);
});

test('a post that may be stored is not retried after the deduplication window', async () => {
  const connection = await connectForTest();
  const before = postCount(connection);
  const headers = { 'Retry-After': '28' };
  connection.fake.fail({ method: 'POST', path: /posts$/, afterHandling: true, status: 503, headers });
  const args = { channel_id: connection.fake.channel('off-topic').id, message: 'Once' };
  expect((await connection.call('post_message', args)).text).toContain('check before you repeat it');
  expect(requestsTo(connection, /posts$/, 'POST')).toHaveLength(1);
  expect(postCount(connection)).toBe(before + 1);
});

test('a retried deletion that finds nothing is not blamed on the arguments', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ method: 'DELETE', afterHandling: true, status: 503 });
  const { text } = await connection.call('delete_message', { post_id: connection.fake.post('plan').id });
  expect(requestsTo(connection, /posts/, 'DELETE')).toHaveLength(2);
  expect(text).toMatch(/^Resource not found.*may have been made/);
});

test('a post that Mattermost is still storing is retried', async () => {
  const connection = await connectForTest();
  const body = { id: 'api.post.deduplicate_create_post.pending', message: 'Pending', status_code: 500 };
  connection.fake.fail({ method: 'POST', path: /posts$/, status: 500, body });
  const args = { channel_id: connection.fake.channel('off-topic').id, message: 'Once' };
  expect((await connection.call('post_message', args)).isError).toBe(false);
});

test('a disabled feature is not reported as a transient error', async () => {
  const connection = await connectForTest({ fake: { version: '6.7' } });
  const [file_id] = connection.fake.post('notes').file_ids;
  const { text } = await connection.call('get_file_link', { file_id });
  expect(text).toMatch(/^Client error: Public links have been disabled \(status=501/);
  expect(text).toContain('disabled');
  expect(text).not.toContain('Try again');
});

test.each(['6.7', '10.11'])('a 403 of %s mentions the id and join_channel', async (version) => {
  const connection = await connectForTest({ fake: { version } });
  const channel_id = connection.fake.channel('open-door').id;
  const { text } = await connection.call('post_message', { channel_id, message: 'Hello' });
  expect(text).toMatch(/^Client error: .*the id is wrong.*join_channel/);
});

test('a response may take longer than the keep-alive time', async () => {
  const connection = await connectForTest({ config: { keepAliveMs: 20 } });
  connection.fake.fail({ path: /users\/me/, delayMs: 200 });
  expect((await connection.call('get_me')).isError).toBe(false);
  expect(requestsTo(connection, /users\/me/)).toHaveLength(1);
});

test.each([
  ['a 503', { status: 503 }, 'Server error'],
  ['a reset', { reset: 'before' }, 'could not be reached'],
] as const)(
  'creating a channel is not retried after %s, and the agent gets the advice to check',
  async (_, fault, text) => {
    const connection = await connectForTest();
    connection.fake.fail({ method: 'POST', path: /channels$/, afterHandling: true, ...fault });
    const answer = await connection.call('create_channel', {
      team_id: connection.fake.team('main').id,
      name: 'only-one',
      display_name: 'Only one',
    });
    expect(answer.isError).toBe(true);
    expect(answer.text).toContain(text);
    expect(answer.text).toContain('check before you repeat it');
    expect(requestsTo(connection, /channels$/, 'POST')).toHaveLength(1);
  },
);

test('a rate-limited change is retried, because it was not made', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ method: 'POST', path: /channels$/, status: 429, times: 2 });
  const args = { team_id: connection.fake.team('main').id, name: 'later', display_name: 'Later' };
  expect((await connection.call('create_channel', args)).isError).toBe(false);
});

test('an outage is reported for reads and changes, and no change is reported as done', async () => {
  const connection = await connectForTest({ config: { maxRetries: 1 } });
  await connection.call('get_me');
  const channel_id = connection.fake.channel('off-topic').id;
  await connection.fake.close();
  const read = (await connection.call('get_me')).text;
  expect(read).toContain(`Mattermost could not be reached at ${connection.fake.url} (GET /users/me): `);
  expect(read).toContain('if the address is wrong, ask for MATTERMOST_URL to be corrected.');
  const { text } = await connection.call('mark_channel_viewed', { channel_id });
  expect(text).toContain('Mattermost could not be reached');
  expect(text).not.toContain('may have been made');
});

test.each([
  [401, 'AUTHENTICATION', /^Authentication failed.*status=401.*stop/],
  [403, 'permission', /^Client error: Fault 403 on command \(status=403 error_id=fake\.fault\.app_error\)/],
  [404, 'missing', /^Resource not found: .*status=404.*Check the id/],
  [400, 'bad', /^Client error: .*status=400/],
  [500, 'server', /^Server error: .*status=500.*Try again after a while/],
])('status %d has the documented error text', async (status, _, expected) => {
  const connection = await connectForTest({ config: { maxRetries: 0 } });
  connection.fake.fail({ path: /users\/me/, status });
  const { isError, text } = await connection.call('get_me');
  expect(isError).toBe(true);
  expect(text).toMatch(expected);
});

test('a long error message is cut, and an HTML page of a proxy is left out', async () => {
  const connection = await connectForTest({ config: { maxRetries: 0 } });
  connection.fake.fail({ path: /users\/me/, status: 400, body: { message: 'x'.repeat(50_000) } });
  expect((await connection.call('get_me')).text.length).toBeLessThan(1000);
  connection.fake.fail({ path: /users\/me/, status: 502, body: `<html>${'y'.repeat(50_000)}</html>` });
  expect((await connection.call('get_me')).text).toBe('Server error (status=502). Try again after a while.');
});

test.each([
  ['<html>Log in</html>', 'is not JSON'],
  ['{"id": "abc', 'is not JSON'],
  ['[]', 'is not an object'],
  ['null', 'is not an object'],
])('the response %s is an error that names what to check', async (body, expected) => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status: 200, body });
  const { isError, text } = await connection.call('get_me');
  expect(isError).toBe(true);
  expect(text).toContain(expected);
});

test('a redirect is not followed, so the token is not sent elsewhere', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, status: 302, headers: { Location: 'https://elsewhere.example/' } });
  const { text } = await connection.call('get_me');
  expect(text).toContain('redirects to https://elsewhere.example/');
  expect(text).toContain('MATTERMOST_URL');
});

test('an expired token is an authentication error', async () => {
  const connection = await connectForTest();
  expect((await connection.call('get_me')).isError).toBe(false);
  connection.fake.revoke(connection.fake.token('alice'));
  expect((await connection.call('get_me')).text).toMatch(/^Authentication failed/);
});

test('a token in a response does not reach the agent', async () => {
  const connection = await connectForTest();
  const token = connection.fake.token('alice');
  connection.fake.fail({ path: /users\/me/, status: 400, body: { message: `bad header Bearer ${token}` } });
  const { text } = await connection.call('get_me');
  expect(text).toContain('[token]');
  expect(text + connection.logLines.join('')).not.toContain(token);
  const body = { id: `error.${token}`, message: `bad header Bearer ${token}` };
  connection.fake.fail({ path: /users\/me\/teams\/\w+\/channels/, status: 400, body });
  const inbox = await connection.call('get_unread_inbox');
  expect(inbox.data.failures).toHaveLength(1);
  expect(inbox.text + connection.logLines.join('')).not.toContain(token);
});

test('50 concurrent calls all succeed within the connection limit', async () => {
  const connection = await connectForTest({ environment: { MATTERMOST_MAX_CONNECTIONS: '7' } });
  connection.fake.fail({ path: /channels\//, delayMs: 20, times: 1000 });
  const channel_id = connection.fake.channel('town-square').id;
  const answers = await Promise.all(Array.from({ length: 50 }, () => connection.call('get_channel', { channel_id })));
  expect(answers.every(({ data }) => data.id === channel_id)).toBe(true);
  expect(connection.fake.maxInFlight).toBeGreaterThan(1);
  expect(connection.fake.maxInFlight).toBeLessThanOrEqual(7);
});

test('waiting for a connection times out', async () => {
  const connection = await connectForTest({ config: { maxConnections: 1, timeoutMs: 2000 } });
  const [file_id = ''] = connection.fake.post('notes').file_ids;
  connection.fake.fail({ path: /files\/\w+$/, slowBodyMs: 600_000 });
  const controller = new AbortController();
  const reading = connection.call('get_file_content', { file_id }, { signal: controller.signal });
  reading.catch(() => {});
  await expect.poll(() => requestsTo(connection, /files\/\w+$/).length).toBe(1);
  const args = { channel_id: connection.fake.channel('off-topic').id };
  const { text } = await connection.call('mark_channel_viewed', args);
  expect(text).toMatch(/^All connections to Mattermost are in use .* the request was not sent/);
  expect(text).not.toContain('may have been made');
  controller.abort();
  await expect(reading).rejects.toThrow();
  expect((await connection.call('mark_channel_viewed', args)).isError).toBe(false);
});

test('50 calls under heavy rate limiting all succeed in the end', async () => {
  const connection = await connectForTest({ config: { maxRetries: 10 } });
  connection.fake.fail({ path: /users\/me/, status: 429, times: 120 });
  const answers = await Promise.all(Array.from({ length: 50 }, () => connection.call('get_me')));
  expect(answers.filter(({ isError }) => isError)).toEqual([]);
});

test('cancelling a call aborts its request', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /users\/me/, delayMs: 10_000 });
  const controller = new AbortController();
  const call = connection.call('get_me', {}, { signal: controller.signal });
  call.catch(() => {});
  await expect.poll(() => connection.fake.inFlight).toBe(1);
  controller.abort();
  await expect(call).rejects.toThrow();
  await expect.poll(() => connection.fake.inFlight).toBe(0);
});

test('a call cancelled during a backoff is not retried', async () => {
  const connection = await connectForTest({ config: { backoffMs: 10_000 } });
  connection.fake.fail({ path: /users\/me$/, status: 503, times: 9 });
  const controller = new AbortController();
  const call = connection.call('get_me', {}, { signal: controller.signal });
  call.catch(() => {});
  await expect.poll(() => requestsTo(connection, /users\/me/).length).toBe(1);
  controller.abort();
  await expect(call).rejects.toThrow();
  await connection.call('list_teams');
  expect(requestsTo(connection, /users\/me$/)).toHaveLength(1);
});
