// Mattermost 6.7 to 11, and responses with missing or new fields.
import { describe, expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';

describe.each(['6.7', '7.8', '9.5', '10.4', '11.0'])('Mattermost %s', (version) => {
  test('reads, writes and searches', async () => {
    const connection = await connectForTest({ fake: { version } });
    const { fake } = connection;
    const team_id = fake.team('main').id;
    const channel_id = fake.channel('town-square').id;
    for (const [name, args] of [
      ['get_unread_inbox', {}],
      ['list_my_channels', { team_id }],
      ['get_channel_messages', { channel_id }],
      ['get_channel_messages', { channel_id, unread_only: true }],
      ['search_messages', { team_id, terms: 'build' }],
      ['list_threads', { team_id }],
      ['get_thread', { post_id: fake.post('plan').id }],
      ['list_saved_messages', {}],
      ['post_message', { channel_id, message: 'Hello' }],
      ['add_reaction', { post_id: fake.post('plan').id, emoji_name: 'wave' }],
      ['resolve', { reference: '@bob' }],
    ] as const) {
      expect([name, (await connection.call(name, args)).text]).toEqual([name, expect.not.stringContaining('rror')]);
    }
  });
});

test.each(['list_bookmarks', 'create_bookmark', 'delete_bookmark'])(
  '%s before 9.5 names the required version',
  async (name) => {
    const connection = await connectForTest({ fake: { version: '9.4' } });
    const channel_id = connection.fake.channel('town-square').id;
    const more = {
      list_bookmarks: {},
      create_bookmark: { display_name: 'x', bookmark_type: 'link', link_url: 'https://example.com' },
      delete_bookmark: { bookmark_id: 'x'.repeat(26) },
    }[name];
    const { isError, text } = await connection.call(name, { channel_id, ...more });
    expect(isError).toBe(true);
    expect(text).toContain('version 9.5 or newer');
  },
);

test('a server without bookmarks is reported as such, also with access lists', async () => {
  const connection = await connectForTest({
    fake: { version: '9.4' },
    environment: { MATTERMOST_WRITE_DENY_CHANNELS: 'off-topic' },
  });
  const channel_id = connection.fake.channel('town-square').id;
  const { text } = await connection.call('delete_bookmark', { channel_id, bookmark_id: 'x'.repeat(26) });
  expect(text).toContain('9.5 or newer');
});

test('an unknown bookmark is not reported as an old server', async () => {
  const connection = await connectForTest();
  const channel_id = connection.fake.channel('town-square').id;
  const { text } = await connection.call('delete_bookmark', { channel_id, bookmark_id: 'x'.repeat(26) });
  expect(text).toMatch(/^Resource not found/);
});

test('posts with null or missing fields are read, and full objects keep unknown fields', async () => {
  const connection = await connectForTest();
  const post_id = connection.fake.post('hello').id;
  const bare = {
    id: post_id,
    channel_id: null,
    user_id: null,
    message: null,
    props: null,
    file_ids: null,
    metadata: null,
  };
  connection.fake.fail({ path: /posts\/\w+$/, status: 200, body: { ...bare, brand_new: { deep: [1] } }, times: 2 });
  expect((await connection.call('get_post', { post_id })).data).toEqual({ id: post_id, message: '' });
  const { data } = await connection.call('get_post', { post_id, full: true });
  expect(data.brand_new).toEqual({ deep: [1] });
});

test('null lists are empty lists', async () => {
  const connection = await connectForTest();
  connection.fake.fail({ path: /reactions$/, status: 200, body: 'null' });
  const { data } = await connection.call('get_reactions', { post_id: connection.fake.post('hello').id });
  expect(data).toEqual({ reactions: [] });
});
