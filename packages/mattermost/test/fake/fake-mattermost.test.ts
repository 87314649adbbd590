// The fake Mattermost behaves like the real one, as far as other tests rely on it.
import { createHash, randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import { type FakeMattermost, type FakeOptions, startFakeMattermost } from './fake-mattermost.ts';
import { type PostListBody, userOf } from './test-client.ts';

const started: FakeMattermost[] = [];

async function start(options: FakeOptions = {}) {
  const fake = await startFakeMattermost(options);
  started.push(fake);
  return { fake, alice: userOf(fake, 'alice'), bob: userOf(fake, 'bob'), square: fake.channel('town-square').id };
}

afterEach(async () => {
  for (const fake of started.splice(0)) await fake.close();
});

test('a request without a valid token is a 401 in the shape of Mattermost', async () => {
  const { fake, alice } = await start();
  expect((await alice.get('/users/me')).body).toMatchObject({ username: 'alice', roles: 'system_user' });
  fake.revoke(fake.token('alice'));
  const { status, body, headers } = await alice.get('/users/me');
  expect(status).toBe(401);
  expect(body).toEqual({
    id: 'api.context.session_expired.app_error',
    message: 'Invalid or expired session, please login again.',
    detailed_error: '',
    request_id: expect.stringMatching(/^[a-z0-9]{26}$/),
    status_code: 401,
  });
  expect(headers.get('x-version-id')).toMatch(/^10\.11\.0\./);
});

test('private channels are closed to non-members; public ones are readable by the team and writable by members', async () => {
  const { fake, alice } = await start();
  const secret = fake.channel('secret').id;
  const open = fake.channel('open-door').id;
  expect((await alice.get(`/channels/${secret}`)).status).toBe(403);
  expect((await alice.get(`/channels/${secret}/posts`)).status).toBe(403);
  expect((await alice.get(`/posts/${fake.post('secret').id}`)).status).toBe(403);
  expect((await alice.get(`/teams/${fake.team('main').id}/channels/name/secret`)).status).toBe(404);
  expect((await alice.get(`/teams/${fake.team('other').id}/channels`)).status).toBe(403);
  expect((await alice.get(`/channels/${open}/posts`)).status).toBe(200);
  expect((await alice.post('/posts', { channel_id: open, message: 'hi' })).status).toBe(403);
  expect((await alice.post(`/channels/${open}/members`, { user_id: fake.user('alice').id })).status).toBe(201);
  expect((await alice.post('/posts', { channel_id: open, message: 'hi' })).status).toBe(201);
  expect((await alice.get('/channels/short')).status).toBe(400);
  expect((await alice.get(`/channels/${'a'.repeat(26)}`)).status).toBe(404);
});

test('invalid bodies get a 400 that names the rule', async () => {
  const { fake, alice, square } = await start();
  const refusal = async (path: string, json: unknown) => {
    const { status, body } = await alice.post<{ id: string }>(path, json);
    return `${status} ${body.id}`;
  };
  const post = { channel_id: square, message: 'hi' };
  expect(await refusal('/posts', { ...post, message: 'ä'.repeat(16_384) })).toMatch(/^400 .*message_length/);
  expect(await refusal('/posts', { ...post, root_id: fake.post('plan-1').id })).toMatch(/^400 .*root_id/);
  expect(await refusal('/posts', { ...post, root_id: fake.post('direct').id })).toMatch(/^400 .*channel_root_id/);
  expect(await refusal('/posts', { ...post, message: 7 })).toMatch(/^400 /);
  const channel = { team_id: fake.team('main').id, name: 'fine', display_name: 'Fine', type: 'O' };
  expect(await refusal('/channels', { ...channel, name: 'Not Fine' })).toMatch(/^400 .*1_or_more/);
  expect(await refusal('/channels', { ...channel, name: 'off-topic' })).toMatch(/^400 .*exists/);
  expect(await refusal('/channels', { ...channel, type: 'D' })).toMatch(/^400 .*direct_channel/);
  const reaction = { user_id: fake.user('alice').id, post_id: fake.post('hello').id };
  expect(await refusal('/reactions', { ...reaction, emoji_name: 'no spaces' })).toMatch(/^400 /);
  expect((await alice.post('/posts', { ...post, message: '😀'.repeat(16_383) })).status).toBe(201);
});

test('a repeated pending id returns the same post, per user', async () => {
  const { fake, alice, bob, square } = await start();
  const post = { channel_id: square, message: 'once', pending_post_id: 'abc' };
  const first = await alice.post<{ id: string }>('/posts', post);
  const again = await alice.post<{ id: string }>('/posts', post);
  const other = await bob.post<{ id: string }>('/posts', post);
  expect(again.body.id).toBe(first.body.id);
  expect(other.body.id).not.toBe(first.body.id);
  const all = fake.world.timeline.get(square) ?? [];
  expect(all.filter(({ message }) => message === 'once')).toHaveLength(2);
});

test('2,000 posts are paged completely, each once, with correct cursors', async () => {
  const { fake, alice } = await start({ postCount: 2_000 });
  const big = fake.channel('big').id;
  const seen: string[] = [];
  for (let before = ''; ; ) {
    const { body } = await alice.get<PostListBody>(
      `/channels/${big}/posts?per_page=500${before && `&before=${before}`}`,
    );
    seen.push(...body.order);
    before = body.order.at(-1) ?? '';
    if (!body.prev_post_id) break;
  }
  expect(seen).toHaveLength(2_000);
  expect(new Set(seen).size).toBe(2_000);
  expect(await alice.messages(`/channels/${big}/posts?page=9&per_page=200`)).toContain('Message 1');
  expect(await alice.messages(`/channels/${big}/posts?page=10&per_page=200`)).toEqual([]);
  const { body } = await alice.get<PostListBody>(`/channels/${big}/posts?after=${seen[5]}&per_page=3`);
  expect(body.order).toEqual([seen[2], seen[3], seen[4]]);
  expect(body).toMatchObject({ next_post_id: seen[1], prev_post_id: seen[5] });
  expect((await alice.get<PostListBody>(`/channels/${big}/posts?since=1`)).body.order).toHaveLength(1000);
});

test('since includes edits and deleted posts; a page does not', async () => {
  const { fake, alice, bob, square } = await start();
  const { id } = fake.say('bob', square, 'soon gone');
  const since = fake.world.now();
  await bob.remove(`/posts/${id}`);
  await bob.put(`/posts/${fake.post('hello').id}/patch`, { message: 'Hello again' });
  const { body } = await alice.get<PostListBody>(`/channels/${square}/posts?since=${since}`);
  expect(body.order).toEqual([id, fake.post('hello').id]);
  expect(body.posts[id]).toMatchObject({ message: '', delete_at: expect.any(Number) });
  expect(await alice.messages(`/channels/${square}/posts`)).not.toContain('');
  expect((await bob.remove(`/posts/${id}`)).status).toBe(404);
});

test('replies are sent with their roots, and threads are paged by time', async () => {
  const { fake, alice, square } = await start();
  const root = fake.post('plan').id;
  for (let index = 1; index <= 5; index++) fake.say('bob', square, `reply ${index}`, { root });
  const page = await alice.get<PostListBody>(`/channels/${square}/posts?per_page=1`);
  expect(page.body.order).toHaveLength(1);
  expect(Object.keys(page.body.posts)).toContain(root);
  expect(await alice.messages(`/channels/${square}/posts?collapsedThreads=true`)).not.toContain('reply 5');
  const thread = `/posts/${root}/thread?perPage=3&direction=down`;
  const first = await alice.get<PostListBody>(thread);
  expect(first.body.has_next).toBe(true);
  const last = fake.world.post(first.body.order.at(-1) ?? '');
  const rest = await alice.messages(`${thread}&fromPost=${last.id}&fromCreateAt=${last.create_at}`);
  expect(rest).toEqual(['The plan for the release', 'reply 1', 'reply 2', 'reply 3']);
  const byReply = (await alice.messages(`/posts/${last.id}/thread?perPage=2&direction=down`)).slice(0, 2);
  expect(byReply).toEqual(['When do we ship?', 'The plan for the release']);
  expect((await alice.get(`${thread}&fromPost=${last.id}`)).status).toBe(400);
  const { body } = await alice.get(`/users/me/teams/${fake.team('main').id}/threads?unread=true`);
  expect(body).toMatchObject({ total: 1, total_unread_threads: 1, threads: [{ id: root, unread_replies: 7 }] });
});

test('unread posts are counted, with and without replies, until the channel is viewed', async () => {
  const { fake, alice, square } = await start();
  const unread = `/users/me/channels/${square}/unread`;
  expect((await alice.get(unread)).body).toMatchObject({ msg_count: 2, msg_count_root: 2, mention_count: 1 });
  fake.say('carol', square, 'hey @alice', { root: fake.post('hello').id });
  expect((await alice.get(unread)).body).toMatchObject({ msg_count: 3, msg_count_root: 2, mention_count: 2 });
  const around = `/users/me/channels/${square}/posts/unread?limit_before=1`;
  expect(await alice.messages(around)).toEqual([
    'hey @alice',
    'The build is red again',
    '@alice can you look at the build?',
    'Meeting notes',
  ]);
  expect((await alice.get(`${around}&limit_after=0`)).status).toBe(400);
  await alice.post('/channels/members/me/view', { channel_id: square });
  expect((await alice.get(unread)).body).toMatchObject({ msg_count: 0, msg_count_root: 0, mention_count: 0 });
  expect(await alice.messages(around)).toEqual(['hey @alice']);
});

test('after a truncated response to since, later ones are empty until the channel changes', async () => {
  const { fake, alice } = await start({ postCount: 1500 });
  const big = fake.channel('big').id;
  const posts = fake.world.timeline.get(big) ?? [];
  const since = async (at = 0) => (await alice.messages(`/channels/${big}/posts?since=${at}`)).length;
  expect(await since(posts[1400]?.create_at)).toBe(99);
  expect(await since(1)).toBe(1000);
  expect(await since(posts[1400]?.create_at)).toBe(0);
  fake.say('bob', 'big', 'news');
  expect(await since(posts[1400]?.create_at)).toBe(100);
});

test('saved posts use page as an offset, a database search has one page, and a restart forgets pending posts', async () => {
  const { fake, alice } = await start({ searchEngine: 'database' });
  const team = fake.team('main').id;
  const user_id = fake.user('alice').id;
  for (const { id } of [fake.post('hello'), fake.post('plan')]) {
    fake.world.preferences.push({ user_id, category: 'flagged_post', name: id, value: 'true' });
  }
  expect(await alice.messages('/users/me/posts/flagged?page=1&per_page=2')).toEqual([
    'The plan for the release',
    'Hello everybody',
  ]);
  const search = { terms: 'build', per_page: 1 };
  expect((await alice.post<PostListBody>(`/teams/${team}/posts/search`, search)).body.order).toHaveLength(2);
  const post = { channel_id: fake.channel('off-topic').id, message: 'twice', pending_post_id: 'p' };
  const ids = [];
  for (const isRestarted of [false, false, true]) {
    if (isRestarted) fake.world.restart();
    ids.push((await alice.post<{ id: string }>('/posts', post)).body.id);
  }
  expect(ids[1]).toBe(ids[0]);
  expect(ids[2]).not.toBe(ids[0]);
});

test('old servers answer 403 for unknown ids and show public channels only to members', async () => {
  const { fake, alice, bob } = await start({ version: '6.7' });
  const unknown = 'a'.repeat(26);
  expect((await alice.get(`/channels/${unknown}/posts`)).status).toBe(403);
  expect((await bob.remove(`/posts/${fake.post('deleted').id}`)).status).toBe(403);
  const open = fake.channel('open-door').id;
  expect((await alice.get(`/channels/${open}`)).status).toBe(200);
  expect((await alice.get(`/channels/${open}/posts`)).status).toBe(403);
  expect((await alice.get(`/users/me/teams/${unknown}/threads`)).body).toMatchObject({ threads: [] });
  expect((await alice.get(`/users/${unknown}/status`)).body).toMatchObject({ status: 'offline' });
});

test('PUT replaces a post including pin and props; PATCH changes only given fields', async () => {
  const { fake, alice } = await start();
  const { id } = fake.post('plan');
  await alice.put(`/posts/${id}/patch`, { message: 'A new plan', props: { colour: 'red' } });
  expect((await alice.get(`/posts/${id}`)).body).toMatchObject({
    message: 'A new plan',
    is_pinned: true,
    props: { colour: 'red' },
  });
  await alice.put(`/posts/${id}`, { id, message: 'Plan B' });
  expect((await alice.get(`/posts/${id}`)).body).toMatchObject({ is_pinned: false, props: {} });
  expect((await alice.put(`/posts/${fake.post('hello').id}/patch`, { message: 'not mine' })).status).toBe(403);
  expect((await alice.post(`/posts/${fake.post('deleted').id}/pin`)).status).toBe(403);
});

test('files are stored unchanged, as a form or raw, and a multipart body sent as JSON is stored raw', async () => {
  const { fake, alice, square } = await start();
  const content = randomBytes(200_000);
  const headers = { Authorization: `Bearer ${fake.token('alice')}` };
  const upload = async (query: string, init: RequestInit) => {
    const response = await fetch(`${fake.url}/api/v4/files${query}`, { method: 'POST', ...init });
    const body: { file_infos: { id: string; name: string; size: number }[] } = JSON.parse(await response.text());
    return body.file_infos[0];
  };
  const download = async (id = '') => {
    const response = await fetch(`${fake.url}/api/v4/files/${id}`, { headers });
    return Buffer.from(await response.arrayBuffer());
  };
  const form = () => {
    const parts = new FormData();
    parts.append('channel_id', square);
    parts.append('files', new Blob([content]), 'a b.bin');
    return parts;
  };
  const byForm = await upload('', { headers, body: form() });
  expect(byForm).toMatchObject({ name: 'a b.bin', size: 200_000 });
  expect((await download(byForm?.id)).equals(content)).toBe(true);
  const named = `?channel_id=${square}&filename=raw.bin`;
  const raw = await upload(named, { headers, body: content });
  expect((await download(raw?.id)).equals(content)).toBe(true);
  const envelope = Buffer.from(await new Response(form()).arrayBuffer());
  const wrong = await upload(named, { headers: { ...headers, 'Content-Type': 'application/json' }, body: envelope });
  expect((await download(wrong?.id)).equals(content)).toBe(false);
  const post = await alice.post('/posts', { channel_id: square, message: 'a file', file_ids: [raw?.id] });
  expect(post.body).toMatchObject({ file_ids: [raw?.id], metadata: { files: [{ name: 'raw.bin' }] } });
  expect((await alice.get(`/files/${raw?.id}/link`)).status).toBe(403);
  expect((await userOf(fake, 'carol').get(`/files/${byForm?.id}/info`)).status).toBe(403);
});

test('search supports words, phrases, exclusions and modifiers, and respects membership', async () => {
  const { fake, alice } = await start();
  const search = async (terms: string, more: object = {}) => {
    const path = `/teams/${fake.team('main').id}/posts/search`;
    const { body } = await alice.post<PostListBody>(path, { terms, is_or_search: false, ...more });
    return body.order.map((id) => body.posts[id]?.message);
  };
  const mention = '@alice can you look at the build?';
  const red = 'The build is red again';
  expect(await search('build')).toEqual([red, mention]);
  expect(await search('build', { page: 1, per_page: 1 })).toEqual([mention]);
  expect(await search('build -red')).toEqual([mention]);
  expect(await search('"build is"')).toEqual([red]);
  expect(await search('from:bob build')).toEqual([mention]);
  expect(await search('in:private-room us')).toEqual(['Between us']);
  expect(await search('ship red')).toEqual([]);
  expect(await search('ship red', { is_or_search: true })).toEqual([red, 'When do we ship?']);
  expect(await search('build before:2020-01-01')).toEqual([]);
  expect(await search('build after:2020-01-01')).toHaveLength(2);
});

test('posts can be saved and listed; a reaction is stored once', async () => {
  const { fake, alice } = await start();
  const me = fake.user('alice').id;
  const saved = { user_id: me, category: 'flagged_post', name: fake.post('hello').id, value: 'true' };
  await alice.put('/users/me/preferences', [saved]);
  expect(await alice.messages('/users/me/posts/flagged')).toEqual(['Meeting notes', 'Hello everybody']);
  await alice.post('/users/me/preferences/delete', [saved]);
  expect(await alice.messages('/users/me/posts/flagged')).toEqual(['Meeting notes']);
  const reaction = { user_id: me, post_id: fake.post('hello').id, emoji_name: '+1' };
  for (let time = 0; time < 2; time++) expect((await alice.post('/reactions', reaction)).status).toBe(201);
  expect((await alice.get(`/posts/${reaction.post_id}/reactions`)).body).toHaveLength(2);
  const path = `/users/me/posts/${reaction.post_id}/reactions/${encodeURIComponent('+1')}`;
  for (let time = 0; time < 2; time++) expect((await alice.remove(path)).status).toBe(200);
  expect((await alice.get(`/posts/${reaction.post_id}/reactions`)).body).toHaveLength(1);
});

test('direct channels are created once, regardless of the user', async () => {
  const { fake, alice, bob } = await start();
  const ids = ['alice', 'bob'].map((name) => fake.user(name).id);
  const one = await alice.post<{ id: string }>('/channels/direct', ids);
  const same = await bob.post<{ id: string }>('/channels/direct', ids.toReversed());
  expect([one.body.id, same.body.id]).toEqual(Array(2).fill(fake.channel('alice,bob').id));
  expect((await alice.post('/channels/group', ids)).status).toBe(400);
  const group = await bob.post('/channels/group', [...ids, fake.user('carol').id]);
  expect(group.body).toMatchObject({ id: fake.channel('alice,bob,carol').id, type: 'G', team_id: '' });
});

test('old servers omit fields and have no bookmarks; new ones send more fields', async () => {
  const old = await start({ version: '6.7' });
  const recent = await start({ version: '11.1' });
  const post = await old.alice.get(`/posts/${old.fake.post('hello').id}`);
  expect(post.body).not.toHaveProperty('file_ids');
  expect((await old.alice.get(`/channels/${old.square}`)).body).not.toHaveProperty('last_root_post_at');
  expect((await old.alice.get(`/channels/${old.square}/bookmarks`)).status).toBe(404);
  expect((await recent.alice.get(`/channels/${recent.square}`)).body).toHaveProperty('banner_info');
  const path = `/channels/${recent.square}/bookmarks`;
  const link = { display_name: 'Docs', type: 'link', link_url: 'https://example.com' };
  const made = await recent.alice.post<{ id: string }>(path, link);
  expect(made.status).toBe(201);
  const changed = await recent.alice.call('PATCH', `${path}/${made.body.id}`, { display_name: 'Wiki' });
  expect(changed.body).toMatchObject({ updated: { id: made.body.id, display_name: 'Wiki' } });
  expect((await recent.alice.post(path, { display_name: 'Nothing', type: 'link' })).status).toBe(400);
});

test('an unchanged response is a 304', async () => {
  const { fake, square } = await start();
  const headers = { Authorization: `Bearer ${fake.token('alice')}` };
  const first = await fetch(`${fake.url}/api/v4/channels/${square}/posts`, { headers });
  const etag = first.headers.get('etag') ?? '';
  const ask = () => fetch(first.url, { headers: { ...headers, 'If-None-Match': etag }, cache: 'no-store' });
  expect((await ask()).status).toBe(304);
  fake.say('bob', 'town-square', 'news');
  expect((await ask()).status).toBe(200);
});

test('OAuth: a code works once with its verifier; refresh tokens rotate; resource is rejected', async () => {
  const { fake } = await start();
  const { clientId, clientSecret } = fake.oauthApp;
  const verifier = 'v'.repeat(50);
  const redirect = 'http://127.0.0.1:9/back';
  const authorize = async (more: Record<string, string> = {}) => {
    const query = new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirect,
      state: 'xyz',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      ...more,
    });
    return fetch(`${fake.url}/oauth/authorize?${query}`, { redirect: 'manual' });
  };
  const token = async (fields: Record<string, string>) => {
    const body = new URLSearchParams({ client_id: clientId, client_secret: clientSecret, ...fields });
    const response = await fetch(`${fake.url}/oauth/access_token`, { method: 'POST', body });
    const answer: Record<string, string> = JSON.parse(await response.text());
    return { status: response.status, access: answer.access_token ?? '', refresh: answer.refresh_token ?? '' };
  };
  const back = new URL((await authorize()).headers.get('location') ?? '');
  expect(back.searchParams.get('state')).toBe('xyz');
  const grant = {
    grant_type: 'authorization_code',
    code: back.searchParams.get('code') ?? '',
    redirect_uri: redirect,
    code_verifier: verifier,
  };
  const first = await token(grant);
  expect(first.status).toBe(200);
  expect((await token(grant)).status).toBe(400);
  const second = await token({ grant_type: 'refresh_token', refresh_token: first.refresh });
  const me = async (access: string) =>
    (await fetch(`${fake.url}/api/v4/users/me`, { headers: { Authorization: `Bearer ${access}` } })).status;
  expect([await me(first.access), await me(second.access)]).toEqual([401, 200]);
  expect((await authorize({ resource: 'http://127.0.0.1/mcp' })).status).toBe(400);
  const other = new URL((await authorize()).headers.get('location') ?? '').searchParams.get('code') ?? '';
  expect((await token({ ...grant, code: other, code_verifier: 'wrong' })).status).toBe(400);
});
