// Access lists apply to the tools of optional groups, to searches and to the digest.
import { expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';

const TIME = '2099-01-31T09:00:00Z';
const read = { MATTERMOST_READ_DENY_CHANNELS: 'private-room', MATTERMOST_DEFAULT_TEAM: 'main' };
const write = { MATTERMOST_WRITE_DENY_CHANNELS: 'private-room', MATTERMOST_DEFAULT_TEAM: 'main' };

test.each([
  'update_channel',
  'archive_channel',
  'restore_channel',
  'remove_user_from_channel',
  'update_thread',
  'mark_unread',
  'acknowledge_message',
  'schedule_message',
  'run_slash_command',
])('%s does not reach a channel that may not be written to', async (name) => {
  const connection = await connectForTest({ environment: write });
  const { fake } = connection;
  const channel = { channel_id: fake.channel('private-room').id };
  const post = { post_id: fake.post('private').id };
  const args: Record<string, object> = {
    update_channel: { ...channel, header: 'x' },
    archive_channel: channel,
    restore_channel: channel,
    remove_user_from_channel: { ...channel, user_id: fake.user('bob').id },
    update_thread: { ...post, following: true },
    mark_unread: post,
    acknowledge_message: post,
    schedule_message: { ...channel, message: 'x', time: TIME },
    run_slash_command: { ...channel, command: '/shrug' },
  };
  const { isError, text } = await connection.call(name, { ...args[name] });
  expect(isError).toBe(true);
  expect(text).toMatch(/^Refused/);
  expect(fake.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
});

test('slash commands are refused in any channel, because they may reach others', async () => {
  const connection = await connectForTest({ environment: write });
  const channel_id = connection.fake.channel('town-square').id;
  const { text } = await connection.call('run_slash_command', { channel_id, command: '/shrug' });
  expect(text).toContain('could reach other ones');
});

test('hidden channels are missing in searches, scheduled messages and the sidebar', async () => {
  const open = await connectForTest({ environment: { MATTERMOST_DEFAULT_TEAM: 'main' } });
  const { fake } = open;
  const channel_id = fake.channel('private-room').id;
  await open.call('schedule_message', { channel_id, message: 'Later', time: TIME });
  await open.call('update_sidebar_category', { category: 'Mine', channel_ids: [channel_id] });
  const limited = await connectForTest({ fake, environment: read });
  const lists = [
    ['search_channels', { term: 'private' }],
    ['list_scheduled_messages', {}],
    ['list_sidebar_categories', {}],
    ['get_digest', { since: 1_000_000_000_000 }],
  ] as const;
  for (const [name, args] of lists) {
    expect([name, (await open.call(name, args)).text]).toEqual([name, expect.stringContaining(channel_id)]);
    expect([name, (await limited.call(name, args)).text]).toEqual([name, expect.not.stringContaining(channel_id)]);
  }
});

test('a category keeps its hidden channels when others are moved into it', async () => {
  const open = await connectForTest({ environment: { MATTERMOST_DEFAULT_TEAM: 'main' } });
  const { fake } = open;
  const hidden = fake.channel('private-room').id;
  await open.call('update_sidebar_category', { category: 'Mine', channel_ids: [hidden] });
  const limited = await connectForTest({ fake, environment: read });
  const moved = { category: 'Mine', channel_ids: [fake.channel('off-topic').id] };
  const { data } = await limited.call('update_sidebar_category', moved);
  expect(data.channels).toEqual([expect.objectContaining({ name: 'Off-Topic' })]);
  const { data: all } = await open.call('list_sidebar_categories');
  const mine = all.categories.find(({ name }: { name: string }) => name === 'Mine');
  expect(mine.channels.map(({ id }: { id: string }) => id)).toContain(hidden);
  const refused = await limited.call('update_sidebar_category', { category: 'Mine', channel_ids: [hidden] });
  expect(refused.text).toMatch(/^Refused/);
});

test('a user is not added to a team that may not be written to', async () => {
  const environment = { MATTERMOST_WRITE_DENY_TEAMS: 'main', MATTERMOST_DEFAULT_TEAM: 'main' };
  const connection = await connectForTest({ environment });
  const user_id = connection.fake.user('dave').id;
  expect((await connection.call('add_user_to_team', { user_id })).text).toMatch(/^Refused/);
});
