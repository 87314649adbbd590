// What a server does not allow, however it is asked for: profiles, and lists of channels and teams.
import { afterEach, describe, expect, test } from 'vitest';
import { type Connection, type ConnectOptions, connect, eras } from './connect.ts';

const open: Connection[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
});

async function start(environment: Record<string, string>, options: ConnectOptions = {}): Promise<Connection> {
  const connection = await connect({ environment, ...options });
  open.push(connection);
  return connection;
}

describe.each(eras)('profiles in %s', (era) => {
  test.each([
    ['reader', ['read']],
    ['writer', ['read', 'write']],
    ['manager', ['read', 'write', 'create']],
    ['admin', ['read', 'write', 'create', 'delete']],
  ])('%s sees and may call only what it is for', async (profile, allowed) => {
    const connection = await start({ MATTERMOST_PROFILE: profile }, { era });
    const { tools } = await connection.client.listTools();
    expect(new Set(tools.map(({ _meta }) => _meta?.capability))).toEqual(new Set(allowed));
    const probes = {
      write: ['mark_channel_viewed', { channel_id: connection.fake.channel('off-topic').id }],
      create: [
        'create_direct_channel',
        { user_id_1: connection.fake.user('alice').id, user_id_2: connection.fake.user('bob').id },
      ],
      delete: ['delete_message', { post_id: connection.fake.post('plan').id }],
    } as const;
    for (const [capability, [name, args]] of Object.entries(probes)) {
      if (allowed.includes(capability)) expect((await connection.call(name, args)).isError).toBe(false);
      else {
        const text = `Refused: ${name} needs "${capability}", which the profile ${profile} of this server does not have.`;
        expect(await connection.call(name, args)).toMatchObject({ isError: true, text });
      }
    }
    if (profile === 'reader') expect(connection.fake.requests).toEqual([]);
  });
});

const refused = /^Refused: the policy of this server/;

test('a channel that may not be read cannot be read by any id that leads there', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'town-square' });
  const { fake } = connection;
  const channel_id = fake.channel('town-square').id;
  const post_id = fake.post('notes').id;
  const [file_id = ''] = fake.post('notes').file_ids;
  const calls: [string, Record<string, unknown>][] = [
    ['get_channel', { channel_id }],
    ['get_channel_by_name', { team_id: fake.team('main').id, channel_name: 'town-square' }],
    ['get_channel_messages', { channel_id }],
    ['get_channel_members', { channel_id }],
    ['list_pinned_messages', { channel_id }],
    ['list_bookmarks', { channel_id }],
    ['list_saved_messages', { channel_id }],
    ['get_post', { post_id }],
    ['get_thread', { post_id: fake.post('plan-1').id }],
    ['get_reactions', { post_id }],
    ['save_message', { post_id }],
    ['get_file_info', { file_id }],
    ['get_file_content', { file_id }],
    ['get_file_link', { file_id }],
    ['download_file', { file_id }],
    ['resolve', { reference: '#town-square' }],
    ['resolve', { reference: `${fake.url}/main/pl/${post_id}` }],
    // what may not be read may not be written either
    ['post_message', { channel_id, message: 'x' }],
    ['add_reaction', { post_id, emoji_name: 'x' }],
    ['pin_message', { post_id }],
    ['update_message', { post_id: fake.post('plan').id, message: 'x' }],
    ['delete_message', { post_id: fake.post('plan').id }],
    ['upload_file', { channel_id, content_base64: 'YQ==', filename: 'a' }],
    ['create_bookmark', { channel_id, display_name: 'x', bookmark_type: 'link', link_url: 'https://example.com' }],
    ['join_channel', { channel_id }],
    ['leave_channel', { channel_id }],
    ['mark_channel_viewed', { channel_id }],
    ['add_user_to_channel', { channel_id, user_id: fake.user('bob').id }],
    ['post_message', { channel_id: fake.channel('off-topic').id, message: 'x', file_ids: [file_id] }],
  ];
  for (const [name, args] of calls)
    expect([name, (await connection.call(name, args)).text]).toEqual([name, expect.stringMatching(refused)]);
  expect(fake.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('what may not be read is left out of lists, searches and the inbox', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'main/town-square' });
  const team_id = connection.fake.team('main').id;
  for (const [name, args] of [
    ['list_my_channels', { team_id }],
    ['list_public_channels', { team_id }],
    ['search_messages', { team_id, terms: 'build' }],
    ['list_saved_messages', {}],
    ['list_threads', { team_id }],
    ['get_unread_inbox', {}],
  ] as const) {
    const { isError, text } = await connection.call(name, args);
    expect(isError).toBe(false);
    expect(text).not.toMatch(/Town Square|build|notes|plan/);
  }
});

test('a link to a message that may not be read does not bring it along', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'town-square' });
  const { fake } = connection;
  const linking = fake.post('mention');
  const shown = { type: 'opengraph', url: 'https://example.com', data: { title: 'Example' } };
  const linked = (name: string) => ({ type: 'permalink', data: { post_id: 'x', post: fake.post(name) } });
  const nameless = { type: 'permalink', data: { post_id: 'x' } };
  const own = { ...linking, channel_id: fake.channel('off-topic').id };
  const post = (name: string) => ({ ...own, metadata: { embeds: [shown, linked(name), nameless] } });
  const read = async (name: string) => {
    fake.fail({ path: /posts\/\w+$/, status: 200, body: post(name), times: 2 });
    const { data } = await connection.call('get_post', { post_id: linking.id, full: true });
    return data.metadata.embeds;
  };
  expect(await read('plan')).toEqual([shown]);
  expect(await read('hello')).toHaveLength(fake.post('hello').channel_id === own.channel_id ? 2 : 1);
});

test.each(['6.7', '10.11'])(
  'on %s a file of my own can be sent and then posted where that is allowed',
  async (version) => {
    const connection = await start({ MATTERMOST_READ_ALLOW_CHANNELS: 'off-topic' }, { fake: { version } });
    const channel_id = connection.fake.channel('off-topic').id;
    const { data } = await connection.call('upload_file', { channel_id, content_base64: 'YQ==', filename: 'a.txt' });
    const post = { channel_id, message: 'x', file_ids: [data.id] };
    expect((await connection.call('post_message', post)).data?.files).toMatchObject([{ id: data.id }]);
  },
);

test('a conversation that a list names by its id is not opened by the names of its people', async () => {
  const free = await start({});
  const { fake } = free;
  const [me, bob, carol] = ['alice', 'bob', 'carol'].map((name) => fake.user(name).id);
  const denied = ['alice,bob', 'alice,bob,carol'].map((name) => fake.channel(name).id);
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: denied.join(',') }, { fake });
  expect((await connection.call('create_direct_channel', { user_id_1: me, user_id_2: bob })).text).toMatch(refused);
  expect((await connection.call('create_group_channel', { user_ids: [bob, carol] })).text).toMatch(refused);
});

test('an allow list is all there is; direct messages need a word of their own', async () => {
  const connection = await start({ MATTERMOST_READ_ALLOW_CHANNELS: 'off-topic' });
  const direct = connection.fake.channel('alice,bob').id;
  expect((await connection.call('get_channel_messages', { channel_id: direct })).text).toMatch(refused);
  const { data } = await connection.call('list_my_channels', { team_id: connection.fake.team('main').id });
  expect(data.channels.map(({ name }: { name: string }) => name)).toEqual(['off-topic']);

  const other = await start({ MATTERMOST_READ_ALLOW_CHANNELS: '@direct' }, { fake: connection.fake });
  expect((await other.call('get_channel_messages', { channel_id: direct })).isError).toBe(false);
  const group = connection.fake.channel('alice,bob,carol').id;
  expect((await other.call('get_channel_messages', { channel_id: group })).text).toMatch(refused);
});

test('writing can be allowed for less than reading', async () => {
  const connection = await start({ MATTERMOST_WRITE_ALLOW_CHANNELS: 'off-topic' });
  const { fake } = connection;
  const say = (channel: string) =>
    connection.call('post_message', { channel_id: fake.channel(channel).id, message: 'x' });
  expect((await say('off-topic')).isError).toBe(false);
  expect((await say('town-square')).text).toMatch(refused);
  expect((await connection.call('get_post', { post_id: fake.post('plan').id })).isError).toBe(false);
  expect((await connection.call('delete_message', { post_id: fake.post('plan').id })).text).toMatch(refused);
  const users = { user_id_1: fake.user('alice').id, user_id_2: fake.user('carol').id };
  expect((await connection.call('create_direct_channel', users)).text).toMatch(refused);
  const named = { team_id: fake.team('main').id, display_name: 'x' };
  expect((await connection.call('create_channel', { ...named, name: 'something' })).text).toMatch(refused);
});

test('a bookmark of another channel is not reached through one that is allowed', async () => {
  const connection = await start({ MATTERMOST_WRITE_DENY_CHANNELS: 'town-square' });
  const free = await connect({ fake: connection.fake });
  open.push(free);
  const channel_id = connection.fake.channel('town-square').id;
  const link = { display_name: 'x', bookmark_type: 'link', link_url: 'https://example.com' };
  const { data } = await free.call('create_bookmark', { channel_id, ...link });
  const through = { channel_id: connection.fake.channel('off-topic').id, bookmark_id: data.id };
  expect((await connection.call('delete_bookmark', through)).text).toMatch(refused);
  expect((await connection.call('update_bookmark', { ...through, display_name: 'y' })).text).toMatch(refused);
});

test('teams: denied ones are not there, allowed ones are all there is', async () => {
  const denied = await start({ MATTERMOST_READ_DENY_TEAMS: 'main' }, { user: 'carol' });
  const { fake } = denied;
  const team_id = fake.team('main').id;
  expect((await denied.call('list_teams')).data.teams).toMatchObject([{ name: 'other' }]);
  expect((await denied.call('get_team', { team_id })).text).toMatch(refused);
  expect((await denied.call('get_team_members', { team_id })).text).toMatch(refused);
  expect((await denied.call('search_messages', { team_id, terms: 'build' })).text).toMatch(refused);
  expect((await denied.call('search_users', { team_id, term: 'a' })).text).toMatch(refused);
  expect((await denied.call('get_post', { post_id: fake.post('plan').id })).text).toMatch(refused);
  expect((await denied.call('get_post', { post_id: fake.post('elsewhere').id })).isError).toBe(false);

  const allowed = await start({ MATTERMOST_READ_ALLOW_TEAMS: fake.team('other').id }, { user: 'carol', fake });
  expect((await allowed.call('list_teams')).data.teams).toMatchObject([{ name: 'other' }]);
  expect((await allowed.call('get_post', { post_id: fake.post('plan').id })).text).toMatch(refused);
  expect((await allowed.call('get_post', { post_id: fake.post('elsewhere').id })).isError).toBe(false);
});

test('when it cannot be found out which channel it is, nothing is done', async () => {
  const connection = await start({ MATTERMOST_WRITE_ALLOW_CHANNELS: 'off-topic' }, { config: { maxRetries: 0 } });
  connection.fake.fail({ path: /channels\/\w{26}$/, status: 500 });
  const { isError } = await connection.call('post_message', {
    channel_id: connection.fake.channel('off-topic').id,
    message: 'x',
  });
  expect(isError).toBe(true);
  expect(connection.fake.requests.filter(({ method }) => method === 'POST')).toEqual([]);
});
