// Every tool is called at least once through the official client, with its effect in Mattermost.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Connection, connect } from '../connect.ts';
import { checkAgainstOpenApi } from '../fake/openapi/openapi-check.ts';

let connection: Connection;
const called = new Set<string>();
const ids: Record<string, string> = {};

beforeAll(async () => {
  connection = await connect({ fake: { publicLinks: true } });
  const { fake } = connection;
  for (const name of ['alice', 'bob', 'carol', 'dave']) ids[name] = fake.user(name).id;
  for (const name of ['town-square', 'off-topic', 'open-door', 'private-room']) ids[name] = fake.channel(name).id;
  for (const key of ['hello', 'plan', 'plan-1', 'notes', 'mention']) ids[key] = fake.post(key).id;
  ids.team = fake.team('main').id;
});

afterAll(() => connection.close());

/** Calls a tool that must succeed and returns the result. */
async function ask(name: string, args: Record<string, unknown> = {}) {
  called.add(name);
  const answer = await connection.call(name, args);
  if (answer.isError) throw new Error(`${name}: ${answer.text}`);
  return answer.data;
}

const names = (list: Record<string, unknown>[], field: string) => list.map((item) => item[field]);

test('teams: list, get, members', async () => {
  expect(names((await ask('list_teams')).teams, 'name')).toEqual(['main']);
  expect(await ask('get_team', { team_id: ids.team })).toMatchObject({ name: 'main', display_name: 'Main Team' });
  const { members, truncated } = await ask('get_team_members', { team_id: ids.team, per_page: 200 });
  expect(names(members, 'username')).toEqual(expect.arrayContaining(['alice', 'bob', 'carol']));
  expect(truncated).toBe(false);
});

test('users: me, by id, by username, search, status', async () => {
  expect(await ask('get_me')).toMatchObject({ id: ids.alice, username: 'alice', name: 'Alice Archer' });
  expect(await ask('get_user', { user_id: ids.bob })).toMatchObject({ username: 'bob' });
  expect(await ask('get_user_by_username', { username: '@Bob' })).toMatchObject({ id: ids.bob });
  expect(names((await ask('search_users', { term: 'car' })).users, 'username')).toEqual(['carol']);
  expect(await ask('get_user_status', { user_id: ids.bob })).toMatchObject({ user_id: ids.bob, status: 'away' });
});

test('a user search notes that there are more results', async () => {
  const people = Array.from({ length: 101 }, (_, index) => ({
    id: String(index).padStart(26, 'u'),
    username: `u${index}`,
  }));
  connection.fake.fail({ path: /users\/search/, status: 200, body: people });
  const { data } = await connection.call('search_users', { term: 'u' });
  expect(data).toMatchObject({ truncated: true, note: expect.stringContaining('more') });
  expect(data.users).toHaveLength(100);
});

test('channels: list and get', async () => {
  const { channels } = await ask('list_public_channels', { team_id: ids.team });
  expect(names(channels, 'name')).toEqual(expect.arrayContaining(['town-square', 'open-door']));
  expect(names(channels, 'name')).not.toContain('private-room');
  expect(await ask('get_channel', { channel_id: ids['town-square'] })).toMatchObject({ display_name: 'Town Square' });
  const named = { team_id: ids.team, channel_name: 'off-topic' };
  expect(await ask('get_channel_by_name', named)).toMatchObject({ id: ids['off-topic'] });
  const members = (await ask('get_channel_members', { channel_id: ids['off-topic'] })).members;
  expect(names(members, 'username').sort()).toEqual(['alice', 'bob']);
});

test('channels: mine with unread counts; direct channels named by the other user', async () => {
  const { channels } = await ask('list_my_channels', { team_id: ids.team });
  expect(channels.find((one: { type: string }) => one.type === 'D').display_name).toBe('@bob');
  const unread = (await ask('list_my_channels', { team_id: ids.team, only_unread: true, channel_types: ['O'] }))
    .channels;
  expect(unread).toHaveLength(1);
  expect(unread[0]).toMatchObject({ name: 'town-square', unread_msg_count: 2, mention_count: 1 });
});

test('channels: create, direct and group channels', async () => {
  const made = await ask('create_channel', {
    team_id: ids.team,
    name: 'new-one',
    display_name: 'New',
    channel_type: 'P',
  });
  expect(connection.fake.world.channels.get(made.id)).toMatchObject({ name: 'new-one', type: 'P' });
  expect(await ask('create_direct_channel', { user_id_1: ids.alice, user_id_2: ids.carol })).toMatchObject({
    type: 'D',
    display_name: '@carol',
  });
  expect(await ask('create_group_channel', { user_ids: [ids.bob, ids.carol] })).toMatchObject({ type: 'G' });
});

test('channels: search by display name, archived ones included, and change', async () => {
  const search = async (args: object) =>
    names((await ask('search_channels', { team_id: ids.team, ...args })).channels, 'name');
  expect(await search({ term: 'private ROOM' })).toEqual(['private-room']);
  expect(await search({ term: 'o' })).toEqual(expect.arrayContaining(['open-door', 'old-news']));
  expect(await search({ term: 'news', archived: 'exclude' })).toEqual([]);
  expect(await search({ term: 'n', archived: 'only' })).toEqual(['old-news']);
  expect(await search({ term: 'secret' })).toEqual([]);
  const channel_id = ids['private-room'];
  const changes = { header: '**Rules**', purpose: 'Talk', display_name: 'Quiet Room' };
  expect(await ask('update_channel', { channel_id, ...changes })).toMatchObject({ name: 'private-room', ...changes });
  expect(await ask('update_channel', { channel_id, header: '' })).not.toHaveProperty('header');
  expect(connection.fake.world.channel(channel_id ?? '')).toMatchObject({ header: '', purpose: 'Talk' });
});

test('files: search by name, content, person and extension', async () => {
  const search = async (terms: string) => (await ask('search_files', { team_id: ids.team, terms })).files;
  expect(await search('second ext:txt')).toEqual([
    expect.objectContaining({
      name: 'notes.txt',
      user: 'carol',
      channel: 'Town Square',
      post_id: ids.notes,
      time: expect.any(String),
    }),
  ]);
  expect(await search('from:@bob')).toEqual([]);
  expect(await search('notes ext:pdf')).toEqual([]);
});

test('the digest: what happened since a time', async () => {
  const since = new Date(connection.fake.post('notes').create_at).toISOString();
  const { channels, truncated } = await ask('get_digest', { since });
  expect(names(channels, 'name')).toEqual(expect.arrayContaining(['Town Square', '@bob']));
  expect(truncated).toBe(false);
});

test('channels: join, add a user, mark as read, leave', async () => {
  const channel_id = ids['open-door'];
  const { world } = connection.fake;
  expect(await ask('join_channel', { channel_id })).toMatchObject({ user_id: ids.alice, username: 'alice' });
  expect(await ask('add_user_to_channel', { channel_id, user_id: ids.carol })).toMatchObject({ username: 'carol' });
  connection.fake.say('bob', 'open-door', 'Welcome');
  expect(await ask('mark_channel_viewed', { channel_id })).toEqual({ ok: true, channel_id });
  expect(world.member(channel_id ?? '', ids.alice ?? '')?.msg_count).toBe(
    world.channel(channel_id ?? '').total_msg_count,
  );
  expect(await ask('leave_channel', { channel_id })).toEqual({ ok: true, channel_id });
  expect(world.member(channel_id ?? '', ids.alice ?? '')).toBeUndefined();
});

test('messages: post, read, edit, delete', async () => {
  const channel_id = ids['off-topic'];
  const first = await ask('post_message', { channel_id, message: 'One' });
  const attachments = [{ text: 'Build passed', color: 'good', fields: [{ title: 'Tests', value: 12 }] }];
  const second = await ask('post_message', { channel_id, message: '', attachments });
  expect(connection.fake.world.post(second.id).props).toMatchObject({
    attachments: [{ ...attachments[0], fields: [{ title: 'Tests', value: 12, short: false }] }],
  });
  expect(await ask('update_message', { post_id: first.id, message: 'Uno' })).toMatchObject({ message: 'Uno' });
  const { messages, channel } = await ask('get_channel_messages', { channel_id });
  expect(channel).toBe('Off-Topic');
  expect(names(messages, 'message').slice(-2)).toEqual(['Uno', '']);
  expect(await ask('delete_message', { post_id: first.id })).toEqual({ ok: true, post_id: first.id });
  expect(connection.fake.world.posts.get(first.id)?.delete_at).toBeGreaterThan(0);
});

test('messages: search, with names of users and channels', async () => {
  const { messages, truncated } = await ask('search_messages', { team_id: ids.team, terms: 'build' });
  expect(messages[0]).toMatchObject({ user: 'carol', channel: 'Town Square', message: 'The build is red again' });
  expect(messages).toHaveLength(2);
  expect(truncated).toBe(false);
});

test('posts: get, reactions, pins', async () => {
  const post_id = ids.hello;
  expect(await ask('get_post', { post_id })).toMatchObject({ user: 'bob', user_id: ids.bob, channel: 'Town Square' });
  expect(await ask('add_reaction', { post_id, emoji_name: ':tada:' })).toMatchObject({
    emoji_name: 'tada',
    user: 'alice',
  });
  const { reactions } = await ask('get_reactions', { post_id });
  expect(names(reactions, 'emoji_name').sort()).toEqual(['tada', 'wave']);
  await ask('remove_reaction', { post_id, emoji_name: 'tada' });
  expect((await ask('get_reactions', { post_id })).reactions).toHaveLength(1);
  expect(await ask('pin_message', { post_id })).toMatchObject({ pinned: true });
  const pinned = await ask('list_pinned_messages', { channel_id: ids['town-square'] });
  expect(names(pinned.messages, 'message')).toEqual(['The plan for the release', 'Hello everybody']);
  expect((await ask('unpin_message', { post_id })).pinned).toBeUndefined();
});

test('threads: read by any post, list followed threads', async () => {
  const thread = await ask('get_thread', { post_id: ids['plan-1'] });
  expect(thread.root_id).toBe(ids.plan);
  expect(names(thread.messages, 'user')).toEqual(['alice', 'bob', 'carol']);
  const { threads } = await ask('list_threads', { team_id: ids.team });
  expect(threads[0]).toMatchObject({ id: ids.plan, reply_count: 2, participants: ['alice', 'bob', 'carol'] });
});

test('saved messages: list, save, unsave', async () => {
  expect(names((await ask('list_saved_messages')).messages, 'id')).toEqual([ids.notes]);
  await ask('save_message', { post_id: ids.hello });
  expect(names((await ask('list_saved_messages')).messages, 'id').sort()).toEqual([ids.hello, ids.notes].sort());
  await ask('unsave_message', { post_id: ids.hello });
  expect(names((await ask('list_saved_messages')).messages, 'id')).toEqual([ids.notes]);
});

test('files: upload and inspect', async () => {
  const content_base64 = Buffer.from('Häuser\n').toString('base64');
  const file = await ask('upload_file', { channel_id: ids['off-topic'], content_base64, filename: 'häuser.txt' });
  expect(file).toMatchObject({ name: 'häuser.txt', size: 8 });
  expect(await ask('get_file_info', { file_id: file.id })).toMatchObject({ id: file.id, name: 'häuser.txt' });
  expect((await ask('get_file_content', { file_id: file.id })).text).toBe('Häuser\n');
  const post = await ask('post_message', { channel_id: ids['off-topic'], message: 'See', file_ids: [file.id] });
  expect(post.files).toEqual([expect.objectContaining({ id: file.id, name: 'häuser.txt' })]);
  expect((await ask('get_file_link', { file_id: file.id })).link).toMatch(/^http/);
  called.add('download_file'); // covered in files.test.ts
});

test('bookmarks: create, update, move, delete', async () => {
  const channel_id = ids['town-square'];
  const link = { channel_id, bookmark_type: 'link', link_url: 'https://example.com/' };
  const one = await ask('create_bookmark', { ...link, display_name: 'One' });
  const two = await ask('create_bookmark', { ...link, display_name: 'Two' });
  const changed = await ask('update_bookmark', { channel_id, bookmark_id: one.id, display_name: 'First' });
  expect(changed).toMatchObject({ id: one.id, display_name: 'First', link_url: 'https://example.com/' });
  const moved = await ask('update_bookmark_sort_order', { channel_id, bookmark_id: two.id, new_sort_order: 0 });
  expect(names(moved.bookmarks, 'id')).toEqual([two.id, one.id]);
  await ask('delete_bookmark', { channel_id, bookmark_id: two.id });
  expect(names((await ask('list_bookmarks', { channel_id })).bookmarks, 'display_name')).toEqual(['First']);
});

test('the inbox: unread channels, mentions first, without marking them as read', async () => {
  const look = () => ask('get_unread_inbox');
  const inbox = await look();
  expect(names(inbox.channels, 'name').slice(0, 2)).toEqual(['@bob', 'Town Square']);
  expect(inbox.channels[0].messages).toEqual([expect.objectContaining({ user: 'bob', message: 'Are you there?' })]);
  expect(inbox.channels[1]).toMatchObject({ unread: 2, mentions: 1 });
  expect(inbox.threads[0]).toMatchObject({ id: ids.plan, unread_replies: 2 });
  expect(await look()).toEqual(inbox);
});

test('resolve: ids for names and links', async () => {
  const { url } = connection.fake;
  const channel = { kind: 'channel', channel_id: ids['off-topic'] };
  for (const reference of ['#off-topic', '~off-topic', 'main/off-topic', `${url}/main/channels/off-topic`]) {
    expect(await ask('resolve', { reference })).toMatchObject(channel);
  }
  const bob = { kind: 'user', user_id: ids.bob, direct_channel_id: connection.fake.channel('alice,bob').id };
  expect(await ask('resolve', { reference: '@bob' })).toMatchObject(bob);
  expect(await ask('resolve', { reference: `${url}/main/messages/@bob` })).toMatchObject(bob);
  const post = { kind: 'post', post_id: ids['plan-1'], root_id: ids.plan, channel_id: ids['town-square'] };
  expect(await ask('resolve', { reference: `${url}/main/pl/${ids['plan-1']}` })).toMatchObject(post);
  expect(await ask('resolve', { reference: `${url}/main` })).toMatchObject({ kind: 'team', team_id: ids.team });
});

test('resolve accepts only URLs of its own Mattermost server', async () => {
  const before = connection.fake.requests.length;
  const { isError, text } = await connection.call('resolve', { reference: `https://evil.example/main/pl/${ids.plan}` });
  expect(isError).toBe(true);
  expect(text).toContain('not a URL of this Mattermost server');
  expect(connection.fake.requests).toHaveLength(before);
});

test.each(['../users', '..', '@..', 'main/..', '#'])('resolve rejects %s', async (reference) => {
  const before = connection.fake.requests.length;
  const { isError, text } = await connection.call('resolve', { reference });
  expect(isError).toBe(true);
  expect(text).toContain('is not a name or id');
  const paths = connection.fake.requests.slice(before).map(({ path }) => path);
  expect(paths.filter((path) => !/teams/.test(path))).toEqual([]);
});

test('full: true returns the objects of Mattermost unchanged', async () => {
  const post = await ask('get_post', { post_id: ids.hello, full: true });
  expect(post).toMatchObject({ create_at: expect.any(Number), props: expect.anything(), user: 'bob' });
  const me = await ask('get_me', { full: true });
  expect(me).toMatchObject({ locale: 'en', first_name: 'Alice' });
});

test('all tools were called, with requests that match the OpenAPI description', async () => {
  const { tools } = await connection.client.listTools();
  expect([...called].sort()).toEqual(tools.map(({ name }) => name).sort());
  const description = process.env.MATTERMOST_OPENAPI; // set if the description is available
  if (description) expect(checkAgainstOpenApi(connection.fake.requests, readFileSync(description, 'utf8'))).toEqual([]);
});

test('tokens appear only in request headers and never in the log', () => {
  const token = connection.fake.token('alice');
  expect(connection.logLines.length).toBeGreaterThan(50);
  expect(connection.logLines.join('')).not.toContain(token);
  expect(connection.logLines.join('')).not.toContain('Hello everybody');
});
