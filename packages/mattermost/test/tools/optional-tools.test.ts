// Every tool of the optional groups is called at least once through the official client, with its effect in Mattermost.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Connection, connect } from '../connect.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';
import { checkAgainstOpenApi } from '../fake/openapi/openapi-check.ts';

const PNG = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');
const SOON = '2099-01-31T09:00:00.000Z';

let connection: Connection;
let fake: FakeMattermost;
let asAdmin: Connection;
const called = new Set<string>();
const environment = { MATTERMOST_TOOL_GROUPS: 'all', MATTERMOST_DEFAULT_TEAM: 'main' };

beforeAll(async () => {
  connection = await connect({ environment });
  fake = connection.fake;
  asAdmin = await connect({ fake, user: 'admin', environment });
});

afterAll(async () => {
  await asAdmin.close();
  await connection.close();
});

/** Calls a tool that must succeed and returns the result. */
async function ask(name: string, args: Record<string, unknown> = {}, as = connection) {
  called.add(name);
  const answer = await as.call(name, args);
  if (answer.isError) throw new Error(`${name}: ${answer.text}`);
  return answer.data;
}

const channelId = (name: string) => fake.channel(name).id;

test('channels: archive, find, restore', async () => {
  const channel_id = channelId('open-door');
  await ask('archive_channel', { channel_id }, asAdmin);
  expect(fake.channel('open-door').delete_at).toBeGreaterThan(0);
  const again = await asAdmin.call('archive_channel', { channel_id });
  expect(again.text).toContain('has been archived');
  expect((await connection.call('restore_channel', { channel_id })).text).toContain('appropriate permissions');
  expect(await ask('restore_channel', { channel_id }, asAdmin)).not.toHaveProperty('archived');
  expect(fake.channel('open-door').delete_at).toBe(0);
  expect((await asAdmin.call('restore_channel', { channel_id })).text).toContain('is not archived');
  const direct = await connection.call('archive_channel', { channel_id: channelId('alice,bob') });
  expect(direct.text).toContain('Unable to delete direct');
});

test('channels: remove a member; teams: add one', async () => {
  const user_id = fake.user('bob').id;
  const channel_id = channelId('off-topic');
  expect(await ask('remove_user_from_channel', { channel_id, user_id })).toEqual({ ok: true, channel_id, user_id });
  expect(fake.world.member(channel_id, user_id)).toBeUndefined();
  const added = await ask('add_user_to_team', { user_id: fake.user('dave').id });
  expect(added).toMatchObject({ username: 'dave', team_id: fake.team('main').id });
});

test('threads: follow, mark as read and unread, leave', async () => {
  const post_id = fake.post('plan-2').id;
  const root_id = fake.post('plan').id;
  const bob = await connect({ fake, user: 'bob', environment });
  const unread = async () => (await bob.call('list_threads', { unread: true })).data.threads.length;
  await ask('update_thread', { post_id, following: false }, bob);
  expect((await bob.call('update_thread', { post_id, read: true })).text).toContain('Set following: true');
  const marked = await ask('update_thread', { post_id, following: true, read: true }, bob);
  expect(marked).toEqual({ ok: true, root_id, following: true, unread_replies: 0, unread_mentions: 0 });
  expect(await unread()).toBe(0);
  expect(await ask('update_thread', { post_id, read: false }, bob)).toMatchObject({ root_id, unread_replies: 1 });
  expect(await unread()).toBe(1);
  await bob.close();
});

test('threads in a direct channel are followed, although it belongs to no team', async () => {
  const root = fake.post('direct');
  fake.say('bob', 'alice,bob', 'Still there?', { root: root.id });
  const { following } = await ask('update_thread', { post_id: root.id, following: true });
  expect(following).toBe(true);
  expect((await connection.call('list_threads')).data.threads[0]).toMatchObject({ id: root.id });
});

test('a channel is marked as unread from a message on', async () => {
  const post = fake.post('hello');
  await connection.call('mark_channel_viewed', { channel_id: post.channel_id });
  const { channel_id, last_viewed } = await ask('mark_unread', { post_id: post.id });
  expect(channel_id).toBe(post.channel_id);
  expect(Date.parse(last_viewed)).toBe(post.create_at - 1);
  const { data } = await connection.call('get_channel_messages', { channel_id, unread_only: true });
  expect(data.messages[0]).toMatchObject({ message: 'Hello everybody' });
});

test('priority and acknowledgement: asked for, given, shown, taken back', async () => {
  const request = { channel_id: channelId('town-square'), message: 'Fire drill at noon', priority: 'urgent' };
  const posted = await connection.call('post_message', { ...request, request_ack: true });
  expect(posted.data).toMatchObject({ priority: 'urgent', request_ack: true });
  const post_id = posted.data.id;
  expect((await ask('acknowledge_message', { post_id }, asAdmin)).time).toBeTruthy();
  expect((await connection.call('get_post', { post_id })).data.acknowledged_by).toEqual(['admin']);
  await ask('acknowledge_message', { post_id, acknowledged: false }, asAdmin);
  expect((await connection.call('get_post', { post_id })).data).not.toHaveProperty('acknowledged_by');
});

test('status: presence, a custom one with an end, and cleared', async () => {
  const busy = { status: 'dnd', dnd_until: SOON, text: 'Writing', emoji: ':pencil2:', text_until: SOON };
  const shown = { status: 'dnd', dnd_until: SOON, custom: { emoji: 'pencil2', text: 'Writing', until: SOON } };
  expect(await ask('set_status', busy)).toMatchObject(shown);
  const seen = await asAdmin.call('get_user_status', { user_id: fake.user('alice').id });
  expect(seen.data).toMatchObject(shown);
  expect(await ask('set_status', { text: 'Back' })).toMatchObject({
    custom: { emoji: 'speech_balloon', text: 'Back' },
  });
  expect(await ask('set_status', { status: 'online', clear_text: true })).not.toHaveProperty('custom');
  expect((await connection.call('get_user_status')).data).toEqual({
    user_id: fake.user('alice').id,
    status: 'online',
  });
});

test('a custom status that has ended is not shown', async () => {
  const ended = { emoji: 'pizza', text: 'Lunch', duration: 'one_hour', expires_at: '2020-01-01T00:00:00Z' };
  fake.user('bob').props = { customStatus: JSON.stringify(ended) };
  const { data } = await connection.call('get_user_status', { user_id: fake.user('bob').id });
  expect(data).not.toHaveProperty('custom');
});

test('reminders are set in seconds', async () => {
  const post_id = fake.post('notes').id;
  expect(await ask('set_reminder', { post_id, time: SOON })).toEqual({ ok: true, post_id, time: SOON });
  expect(fake.world.reminders).toEqual([
    { post_id, user_id: fake.user('alice').id, target_time: Date.parse(SOON) / 1000 },
  ]);
});

test('scheduled messages: create, list, change, delete', async () => {
  const root_id = fake.post('plan').id;
  const request = { channel_id: channelId('town-square'), time: SOON };
  const first = await ask('schedule_message', { ...request, message: 'Stand-up!', root_id: fake.post('plan-1').id });
  expect(first).toMatchObject({ message: 'Stand-up!', time: SOON, root_id, channel: 'Town Square' });
  const second = await ask('schedule_message', {
    ...{ channel_id: channelId('alice,bob'), message: 'Lunch?' },
    time: Date.parse(SOON) - 1000,
  });
  const ids = async () => (await ask('list_scheduled_messages')).messages.map(({ id }: { id: string }) => id);
  expect(await ids()).toEqual([second.id, first.id]);
  const later = '2099-02-01T09:00:00.000Z';
  const change = { scheduled_id: first.id, time: later };
  expect(await ask('update_scheduled_message', change)).toMatchObject({ message: 'Stand-up!', time: later, root_id });
  await ask('delete_scheduled_message', { scheduled_id: second.id });
  expect(await ids()).toEqual([first.id]);
  const unknown = await connection.call('delete_scheduled_message', { scheduled_id: second.id });
  expect(unknown.text).toContain('no scheduled message');
});

test('a scheduled message that repeats still does after a change', async () => {
  const request = { channel_id: channelId('town-square'), message: 'Stand-up!', time: SOON };
  const { id } = await ask('schedule_message', request);
  const stored = fake.world.scheduledPosts.get(id);
  Object.assign(stored ?? {}, { repeat_type: 'weekly', repeat_timezone: 'Europe/Berlin' });
  const changed = await ask('update_scheduled_message', { scheduled_id: id, message: 'Stand-up at 9' });
  expect(changed).toMatchObject({ message: 'Stand-up at 9', repeats: 'weekly' });
  expect(stored).toMatchObject({ repeat_type: 'weekly', repeat_timezone: 'Europe/Berlin' });
});

test('user groups: list, search, members', async () => {
  const { groups } = await ask('list_user_groups');
  expect(groups.map(({ name }: { name: string }) => name)).toEqual(['designers', 'developers']);
  const { groups: found } = await ask('list_user_groups', { term: 'devel' });
  expect(found).toEqual([expect.objectContaining({ name: 'developers', members: 2 })]);
  const page = await ask('list_user_group_members', { group_id: found[0].id, per_page: 1 });
  expect(page).toMatchObject({ members: [{ username: 'alice' }], total: 2, truncated: true, next: { page: 1 } });
});

test('custom emoji: list, search, create, delete', async () => {
  const names = async (args: object = {}) =>
    (await ask('list_emoji', args as Record<string, unknown>)).emoji.map(({ name }: { name: string }) => name);
  expect(await names()).toEqual(['party_parrot', 'shipit']);
  expect(await names({ term: 'parrot' })).toEqual(['party_parrot']);
  const image = { content_base64: PNG, filename: 'dance.png' };
  expect(await ask('create_emoji', { emoji_name: ':dance:', ...image })).toMatchObject({
    name: 'dance',
    creator: 'alice',
  });
  const text = { content_base64: Buffer.from('no image').toString('base64'), filename: 'x.txt' };
  expect((await connection.call('create_emoji', { emoji_name: 'text', ...text })).text).toContain('must be a PNG');
  const large = { content_base64: Buffer.alloc(500_001).toString('base64'), filename: 'x.png' };
  expect((await connection.call('create_emoji', { emoji_name: 'large', ...large })).text).toContain('at most 500000');
  await ask('delete_emoji', { emoji_name: 'dance' });
  expect(await names()).toEqual(['party_parrot', 'shipit']);
  expect((await connection.call('delete_emoji', { emoji_name: 'party_parrot' })).isError).toBe(true);
});

test('sidebar: create a category, move channels, rename, delete', async () => {
  const channel_ids = [channelId('off-topic'), channelId('secret')];
  const created = await ask('update_sidebar_category', { category: 'Fun', channel_ids });
  expect(created).toMatchObject({ name: 'Fun', type: 'custom', channels: [{ name: 'Off-Topic' }] });
  expect(created.channels_dropped).toEqual([channelId('secret')]);
  const more = { category: 'fun', channel_ids: [channelId('town-square')], new_name: 'Breaks', muted: true };
  expect(await ask('update_sidebar_category', more)).toMatchObject({
    ...{ id: created.id, name: 'Breaks', muted: true },
    channels: [{ name: 'Town Square' }, { name: 'Off-Topic' }],
  });
  const repeated = await connection.call('update_sidebar_category', more);
  expect(repeated.text).toContain('no category "fun"');
  const { categories } = await ask('list_sidebar_categories');
  expect(categories.filter(({ name }: { name: string }) => name === 'Breaks')).toHaveLength(1);
  await ask('delete_sidebar_category', { category: created.id });
  const unknown = await connection.call('delete_sidebar_category', { category: 'Breaks' });
  expect(unknown.text).toContain('no category "Breaks"');
});

test('slash commands: list and run', async () => {
  const { commands } = await ask('list_slash_commands');
  expect(commands[0]).toMatchObject({ command: '/shrug', hint: '[message]' });
  const channel_id = channelId('town-square');
  await ask('run_slash_command', { channel_id, command: '/shrug who knows' });
  expect(fake.world.timeline.get(channel_id)?.at(-1)?.message).toContain('who knows ¯');
  const answer = await ask('run_slash_command', { channel_id, command: '/header New header' });
  expect(answer).toEqual({ response_type: 'ephemeral', text: 'Channel header updated.' });
  const unknown = await connection.call('run_slash_command', { channel_id, command: '/nothing' });
  expect(unknown.text).toContain("trigger of 'nothing' not found");
});

test('all tools of the groups were called, with requests that match the OpenAPI description', async () => {
  const { tools } = await connection.client.listTools();
  const optional = tools.filter(({ _meta }) => _meta?.exposure === 'deferred').map(({ name }) => name);
  expect([...called].sort()).toEqual(optional.sort());
  expect(fake.unanswered).toEqual([]);
  const description = process.env.MATTERMOST_OPENAPI; // set if the description is available
  if (description) expect(checkAgainstOpenApi(fake.requests, readFileSync(description, 'utf8'))).toEqual([]);
});
