// Unknown ids are reported as such, also where Mattermost responds with success or a missing permission.
import { describe, expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';

const UNKNOWN = 'a'.repeat(26);

describe.each(['6.7', '10.11'])('on %s', (version) => {
  test.each(['before', 'after'])('reading %s an unknown message or a message of another channel', async (side) => {
    const connection = await connectForTest({ fake: { version } });
    const { fake } = connection;
    const channel_id = fake.channel('town-square').id;
    const read = (id: string) => connection.call('get_channel_messages', { channel_id, [side]: id });
    expect((await read(UNKNOWN)).text).toMatch(/^Resource not found: message a+ does not exist/);
    expect((await read(fake.post('private').id)).text).toMatch(/is in another channel/);
    expect((await read(fake.post('plan').id)).isError).toBe(false);
  });

  test('a message deleted during a read does not end the read', async () => {
    const connection = await connectForTest({ fake: { version } });
    const { fake } = connection;
    const channel_id = fake.channel('town-square').id;
    const { data } = await connection.call('get_channel_messages', { channel_id, per_page: 2 });
    fake.unsay('bob', data.next.before);
    const next = await connection.call('get_channel_messages', { channel_id, ...data.next });
    expect(next.data.messages.map(({ message }: { message: string }) => message)).toEqual([
      'Lunch at one',
      'Meeting notes',
    ]);
  });

  test('threads of an unknown team or after an unknown thread', async () => {
    const connection = await connectForTest({ fake: { version } });
    const team_id = connection.fake.team('main').id;
    expect((await connection.call('list_threads', { team_id: UNKNOWN })).text).toMatch(/^Resource not found/);
    expect((await connection.call('list_threads', { team_id, before: UNKNOWN })).text).toMatch(/^Resource not found/);
    expect((await connection.call('list_threads', { team_id })).isError).toBe(false);
  });

  test('the status of an unknown user', async () => {
    const connection = await connectForTest({ fake: { version } });
    expect((await connection.call('get_user_status', { user_id: UNKNOWN })).text).toMatch(/^Resource not found/);
    const user_id = connection.fake.user('dave').id;
    expect((await connection.call('get_user_status', { user_id })).data.status).toBe('offline');
  });

  test.each([
    ['delete_message', {}],
    ['update_message', { message: 'x' }],
    ['pin_message', {}],
    ['unpin_message', {}],
    ['add_reaction', { emoji_name: 'wave' }],
  ])('%s of a deleted message', async (name, args) => {
    const connection = await connectForTest({ fake: { version } });
    const post_id = connection.fake.post('deleted').id;
    expect((await connection.call(name, { post_id, ...args })).text).toMatch(/^Resource not found/);
  });
});

test('an unknown emoji', async () => {
  const connection = await connectForTest();
  const args = { post_id: connection.fake.post('hello').id, emoji_name: 'no_such_emoji' };
  expect((await connection.call('add_reaction', args)).text).toMatch(/^This server has no emoji with that name/);
});
