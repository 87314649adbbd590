// get_digest: what happened in the channels of an account since a time, within a size.
import { expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';

type Activity = { name: string; messages: { message: string }[]; new_messages: number };

test('mentions come first, then direct channels, with who wrote how much', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const since = Date.now() - 60_000;
  fake.say('bob', 'alice,bob', 'Ping');
  fake.say('bob', 'off-topic', 'Nice weather');
  fake.say('alice', 'off-topic', 'Indeed, @alice thinks');
  fake.say('bob', 'private-room', 'One');
  fake.say('bob', 'private-room', '@alice two');
  fake.say('alice', 'private-room', 'Three');
  const { data } = await connection.call('get_digest', { since });
  expect(data.channels.map(({ name }: Activity) => name)).toEqual(['Private Room', '@bob', 'Off-Topic']);
  expect(data.channels[0]).toMatchObject({ new_messages: 3, mentions: 1, people: ['bob (2)', 'alice (1)'] });
  expect(data.channels[0].messages.map(({ message }: { message: string }) => message)).toEqual([
    'One',
    '@alice two',
    'Three',
  ]);
  expect(data.channels[2]).not.toHaveProperty('mentions');
  expect(data).toMatchObject({ active_channels: 3, truncated: false });
});

test('messages that were read count too, joins do not, and nothing is marked as read', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const since = Date.now() - 60_000;
  fake.say('bob', 'off-topic', 'News');
  const channel_id = fake.channel('off-topic').id;
  await connection.call('mark_channel_viewed', { channel_id });
  await connection.call('join_channel', { channel_id: fake.channel('open-door').id });
  fake.say('bob', 'private-room', 'Unread');
  const look = async () => (await connection.call('get_digest', { since })).data;
  const digest = await look();
  expect(digest.channels.map(({ name }: Activity) => name)).toEqual(['Private Room', 'Off-Topic']);
  expect(await look()).toEqual(digest);
});

test('the result keeps within its size; what does not fit is named', async () => {
  const connection = await connectForTest({ fake: { postCount: 150 } });
  const { fake } = connection;
  for (const channel of ['off-topic', 'private-room', 'town-square', 'alice,bob'])
    for (let number = 0; number < 40; number++) fake.say('bob', channel, `${number} `.repeat(300));
  for (const max_characters of [2000, 5000, 20_000, 100_000]) {
    const { text, data } = await connection.call('get_digest', { since: 1_000_000_000_000, max_characters });
    expect(text.length).toBeLessThanOrEqual(max_characters);
    expect(text.length).toBeGreaterThan(max_characters * 0.3);
    expect(data.truncated).toBe(true);
  }
  const { data } = await connection.call('get_digest', { since: 1_000_000_000_000, messages_per_channel: 0 });
  const big = data.channels.find(({ name }: Activity) => name === 'Big');
  expect(big).toMatchObject({ new_messages: 100, messages: [], truncated: true });
});

test('hidden channels are left out, and one team can be chosen', async () => {
  const fake = { seed: {} };
  const connection = await connectForTest({
    fake,
    user: 'carol',
    environment: { MATTERMOST_READ_DENY_CHANNELS: 'secret' },
  });
  const since = 1_000_000_000_000;
  const all = (await connection.call('get_digest', { since })).data;
  const shown = all.channels.map(({ name }: Activity) => name);
  expect(shown).toContain('Elsewhere');
  expect(shown).not.toContain('Secret');
  expect(all.active_channels).toBe(all.channels.length);
  const team_id = connection.fake.team('main').id;
  const main = (await connection.call('get_digest', { since, team_id })).data;
  expect(main.channels.map(({ name }: Activity) => name)).not.toContain('Elsewhere');
});

test('a channel that cannot be read is named, the others are still shown', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const since = Date.now() - 60_000;
  fake.say('bob', 'off-topic', 'News');
  fake.say('bob', 'private-room', 'More news');
  const failing = fake.channel('off-topic').id;
  fake.fail({ path: new RegExp(`channels/${failing}/posts`), status: 404, body: {}, times: 5 });
  const { data } = await connection.call('get_digest', { since });
  expect(data.channels.map(({ name }: Activity) => name)).toEqual(['Private Room']);
  expect(data.failures).toEqual([expect.objectContaining({ what: `channel ${failing}` })]);
});
