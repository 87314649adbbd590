// Access policy: profiles, and access lists of channels and teams, for every way to reach a channel.
import { describe, expect, test } from 'vitest';
import { type Connection, type ConnectOptions, connectForTest, eras } from '../connect.ts';
import { defaultSeed } from '../fake/world/seed.ts';

const start = (environment: Record<string, string>, options: ConnectOptions = {}) =>
  connectForTest({ environment, ...options });

describe.each(eras)('profiles in %s', (era) => {
  test.each([
    ['reader', ['read']],
    ['writer', ['read', 'write']],
    ['manager', ['read', 'write', 'create']],
    ['admin', ['read', 'write', 'create', 'delete']],
  ])('%s lists and allows only its tools', async (profile, allowed) => {
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
        const text = `Refused: ${name} needs the capability "${capability}", which the profile ${profile} of this server does not include.`;
        expect(await connection.call(name, args)).toMatchObject({ isError: true, text });
      }
    }
    if (profile === 'reader') expect(connection.fake.requests).toEqual([]);
  });
});

const refused = /^Refused: the policy of this server/;

test('a hidden channel cannot be read by any id that leads to it', async () => {
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
    // a hidden channel cannot be written either
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

test('hidden channels are left out of lists, searches and the inbox', async () => {
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

test.each(['elasticsearch', 'database'] as const)(
  'a search by %s returns the same whether or not a hidden message matches',
  async (searchEngine) => {
    const connection = await start(
      { MATTERMOST_READ_DENY_CHANNELS: 'private-room,@direct' },
      { fake: { searchEngine } },
    );
    const { fake } = connection;
    // fill the limit of the database search exactly
    for (let number = 0; number < 100; number++) fake.say('bob', 'off-topic', `needle ${number}`);
    fake.say('bob', 'private-room', 'The password is hunter2');
    fake.say('bob', 'alice,bob', 'It is hunter2, I said');
    const search = async (terms: string) => {
      const pages = [{ per_page: 1 }, { per_page: 99 }, { per_page: 60, page: 1 }, { per_page: 200 }];
      const args = { team_id: fake.team('main').id, terms, is_or_search: true };
      return Promise.all(
        pages.map(async (page) => (await connection.call('search_messages', { ...args, ...page })).data),
      );
    };
    for (const around of [
      'needle GUESS',
      'GUESS needle -from:',
      'needle in:private-room in:off-topic GUESS',
      'GUESS',
    ]) {
      const [right, wrong] = await Promise.all(
        ['hunter2', 'hunter3'].map((guess) => search(around.replace('GUESS', guess))),
      );
      expect([around, right]).toEqual([around, wrong]);
    }
    const [first, , second] = await search('needle hunter2');
    expect(first).toMatchObject({ messages: [{ message: 'needle 99' }], truncated: true, next: { page: 1 } });
    expect(second.messages).toHaveLength(40);
  },
);

test('search results of a hidden channel that the query does not exclude are filtered', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'open-door' });
  const { fake } = connection;
  const [shown, hidden] = [fake.say('bob', 'off-topic', 'Shown'), fake.say('bob', 'open-door', 'Hidden')];
  const body = { order: [hidden.id, shown.id], posts: { [hidden.id]: hidden, [shown.id]: shown } };
  const search = async (page: number) => {
    // newer servers also search public channels the account has not joined
    fake.fail({ path: /posts\/search/, status: 200, body });
    const args = { team_id: fake.team('main').id, terms: 'x', per_page: 1, page };
    return (await connection.call('search_messages', args)).data;
  };
  expect(await search(0)).toEqual({ messages: [expect.objectContaining({ message: 'Shown' })], truncated: false });
  expect(await search(1)).toEqual({ messages: [], truncated: false });
});

test('pages of lists do not depend on hidden channels', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'town-square,private-room' });
  const { fake } = connection;
  const hidden: string[] = [];
  for (const channel of ['private-room', 'off-topic', 'town-square', 'off-topic', 'private-room']) {
    const root = fake.say('alice', channel, 'Root');
    fake.say('bob', channel, '@alice look', { root: root.id });
    const saved = { user_id: fake.user('alice').id, category: 'flagged_post', name: root.id, value: 'true' };
    fake.world.preferences.push(saved);
    if (channel !== 'off-topic') hidden.push(root.id);
  }
  const team_id = fake.team('main').id;
  for (const [name, list] of [
    ['list_public_channels', 'channels'],
    ['list_saved_messages', 'messages'],
    ['list_threads', 'threads'],
  ] as const) {
    const first = await connection.call(name, { team_id, per_page: 1 });
    const second = await connection.call(name, { team_id, per_page: 1, ...first.data.next });
    const answers = [first, second].map(({ data }) => [name, data[list].length, data.truncated]);
    expect(answers).toEqual([
      [name, 1, true],
      [name, 1, false],
    ]);
    for (const id of hidden) expect(first.text + second.text).not.toContain(id);
  }
  const inbox = await connection.call('get_unread_inbox', { messages_per_channel: 0 });
  expect(inbox.data).toMatchObject({ threads: [{}, {}], truncated: false });
});

test('a list notes that it stopped at the scan limit', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'big' }, { fake: { postCount: 5000 } });
  const { fake } = connection;
  const user_id = fake.user('alice').id;
  for (const { id } of fake.world.timeline.get(fake.channel('big').id) ?? [])
    fake.world.preferences.push({ user_id, category: 'flagged_post', name: id, value: 'true' });
  const { data } = await connection.call('list_saved_messages');
  expect(data).toEqual({ messages: [], truncated: true, note: expect.stringContaining('5000') });
});

test('ids of hidden items reveal neither name, nor channel, nor time', async () => {
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: 'private-room' });
  const { fake } = connection;
  const [here, there] = [fake.channel('off-topic').id, fake.channel('private-room').id];
  const root = fake.say('alice', 'private-room', 'Root').id;
  fake.say('bob', 'private-room', 'Reply', { root });
  const calls: [string, Record<string, unknown>][] = [
    ['get_post', { post_id: root }],
    ['get_channel', { channel_id: there }],
    ['resolve', { reference: `#${there}`, team_id: fake.team('main').id }],
    ['get_channel_messages', { channel_id: here, before: root }],
    ['get_channel_messages', { channel_id: here, after: root }],
    ['list_threads', { team_id: fake.team('main').id, before: root }],
  ];
  for (const [name, args] of calls) {
    const { text } = await connection.call(name, args);
    expect([name, text]).toEqual([name, expect.stringMatching(refused)]);
    expect(text).not.toMatch(/private/i);
  }
  const answer = async (root_id: string) => {
    const { isError, text } = await connection.call('post_message', { channel_id: here, message: 'x', root_id });
    return [isError, text.replace(root_id, 'ID')];
  };
  const unknown = [true, expect.stringMatching(/^Resource not found: message ID does not exist/)];
  expect([await answer(root), await answer('x'.repeat(26))]).toEqual([unknown, unknown]);
});

test('a hidden channel makes no name ambiguous and does not reveal its team', async () => {
  const channels = ['main', 'other'].map((team) => ({ name: 'news', team, members: ['carol'] }));
  const fake = { seed: { channels: [...defaultSeed.channels, ...channels] } };
  const open = await start({}, { user: 'carol', fake });
  const ask = (connection: Connection) => connection.call('resolve', { reference: '#news' });
  const [main, other] = ['main', 'other'].map((name) => open.fake.team(name).id);
  expect((await ask(open)).text).toContain(`several teams (${main}, ${other})`);
  const half = await start({ MATTERMOST_READ_DENY_CHANNELS: 'other/news' }, { user: 'carol', fake: open.fake });
  expect((await ask(half)).data).toMatchObject({ kind: 'channel', team_id: main });
  const none = await start({ MATTERMOST_READ_DENY_CHANNELS: 'news' }, { user: 'carol', fake: open.fake });
  const { text } = await ask(none);
  expect(text).toMatch(refused);
  expect(text).not.toContain(other);
});

test.each(['Private-Room', '#private-room', '~private-room', 'MAIN / Private-Room', '@Direct', 'main/ID'])(
  'a channel denied as %s is denied',
  async (entry) => {
    const { fake } = await start({});
    const channel_id = fake.channel(entry === '@Direct' ? 'alice,bob' : 'private-room').id;
    const entries = entry.replace('ID', channel_id);
    const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: entries }, { fake });
    expect((await connection.call('get_channel_messages', { channel_id })).text).toMatch(refused);
    // also in a configuration passed by a program
    const lists = { allowChannels: [], denyChannels: [entries], allowTeams: [], denyTeams: [] };
    const other = await start({}, { fake, config: { read: lists } });
    expect((await other.call('get_channel_messages', { channel_id })).text).toMatch(refused);
  },
);

test('a link to a hidden message does not embed it', async () => {
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

test.each(['6.7', '10.11'])('on %s an uploaded file can be posted in an allowed channel', async (version) => {
  const connection = await start({ MATTERMOST_READ_ALLOW_CHANNELS: 'off-topic' }, { fake: { version } });
  const channel_id = connection.fake.channel('off-topic').id;
  const { data } = await connection.call('upload_file', { channel_id, content_base64: 'YQ==', filename: 'a.txt' });
  const post = { channel_id, message: 'x', file_ids: [data.id] };
  expect((await connection.call('post_message', post)).data?.files).toMatchObject([{ id: data.id }]);
});

test('a direct channel that is denied by id cannot be opened by its users', async () => {
  const free = await start({});
  const { fake } = free;
  const [me, bob, carol] = ['alice', 'bob', 'carol'].map((name) => fake.user(name).id);
  const denied = ['alice,bob', 'alice,bob,carol'].map((name) => fake.channel(name).id);
  const connection = await start({ MATTERMOST_READ_DENY_CHANNELS: denied.join(',') }, { fake });
  expect((await connection.call('create_direct_channel', { user_id_1: me, user_id_2: bob })).text).toMatch(refused);
  expect((await connection.call('create_group_channel', { user_ids: [bob, carol] })).text).toMatch(refused);
});

test('an allow list hides everything else; direct messages need @direct', async () => {
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

test('writing can be restricted further than reading', async () => {
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

test('a bookmark of another channel cannot be reached through an allowed one', async () => {
  const connection = await start({ MATTERMOST_WRITE_DENY_CHANNELS: 'town-square' });
  const free = await connectForTest({ fake: connection.fake });
  const channel_id = connection.fake.channel('town-square').id;
  const link = { display_name: 'x', bookmark_type: 'link', link_url: 'https://example.com' };
  const { data } = await free.call('create_bookmark', { channel_id, ...link });
  const through = { channel_id: connection.fake.channel('off-topic').id, bookmark_id: data.id };
  expect((await connection.call('delete_bookmark', through)).text).toMatch(refused);
  expect((await connection.call('update_bookmark', { ...through, display_name: 'y' })).text).toMatch(refused);
});

test('denied teams are hidden; with an allow list all other teams are', async () => {
  const denied = await start({ MATTERMOST_READ_DENY_TEAMS: 'main' }, { user: 'carol' });
  const { fake } = denied;
  const team_id = fake.team('main').id;
  expect((await denied.call('list_teams')).data.teams).toMatchObject([{ name: 'other' }]);
  expect((await denied.call('get_team', { team_id })).text).toMatch(/^Refused: .* reading in that team\./);
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

test('access is refused if the channel cannot be determined', async () => {
  const connection = await start({ MATTERMOST_WRITE_ALLOW_CHANNELS: 'off-topic' }, { config: { maxRetries: 0 } });
  connection.fake.fail({ path: /channels\/\w{26}$/, status: 500 });
  const { isError } = await connection.call('post_message', {
    channel_id: connection.fake.channel('off-topic').id,
    message: 'x',
  });
  expect(isError).toBe(true);
  expect(connection.fake.requests.filter(({ method }) => method === 'POST')).toEqual([]);
});
