// Servers whose version, license or settings lack a feature: the error says which and what would help.
import { describe, expect, test } from 'vitest';
import { connectForTest } from '../connect.ts';
import type { FakeMattermost, FakeOptions } from '../fake/fake-mattermost.ts';

const TIME = '2099-01-31T09:00:00Z';

/** Arguments of the calls below. */
const argumentsOf: Record<string, (fake: FakeMattermost) => Record<string, unknown>> = {
  acknowledge_message: (fake) => ({ post_id: fake.post('hello').id }),
  set_reminder: (fake) => ({ post_id: fake.post('hello').id, time: TIME }),
  schedule_message: (fake) => ({ channel_id: fake.channel('town-square').id, message: 'Later', time: TIME }),
  list_scheduled_messages: () => ({}),
  delete_scheduled_message: () => ({ scheduled_id: 'x'.repeat(26) }),
  list_user_groups: () => ({}),
  list_user_group_members: () => ({ group_id: 'x'.repeat(26) }),
  list_emoji: () => ({}),
  delete_emoji: () => ({ emoji_name: 'shipit' }),
  set_status: () => ({ text: 'Lunch' }),
  post_message: (fake) => ({ channel_id: fake.channel('town-square').id, message: 'Fire', request_ack: true }),
};

async function failure(name: string, options: FakeOptions) {
  const connection = await connectForTest({ fake: options, environment: { MATTERMOST_DEFAULT_TEAM: 'main' } });
  const { isError, text } = await connection.call(name, argumentsOf[name]?.(connection.fake));
  expect(isError).toBe(true);
  return text;
}

test.each([
  ['set_reminder', '7.1', 'has no reminders; they need version 7.2 or newer.'],
  ['acknowledge_message', '7.6', 'has no acknowledgements; they need version 7.7 or newer and a Professional license.'],
  ['schedule_message', '10.2', 'has no scheduled messages; they need version 10.3 or newer'],
  ['list_scheduled_messages', '10.2', 'has no scheduled messages'],
  ['delete_scheduled_message', '10.2', 'has no scheduled messages'],
])('%s on Mattermost %s names the required version', async (name, version, expected) => {
  expect(await failure(name, { version })).toContain(expected);
});

describe('without a license', () => {
  test.each([
    ['acknowledge_message', 'does not include acknowledgements; they need a Professional license'],
    ['schedule_message', 'does not include scheduled messages'],
    ['list_scheduled_messages', 'does not include scheduled messages'],
    ['list_user_groups', 'does not include user groups'],
    ['list_user_group_members', 'does not include user groups'],
    ['post_message', 'does not include message priorities and acknowledgements'],
  ])('%s says so', async (name, expected) => {
    expect(await failure(name, { licensed: false })).toContain(expected);
  });
});

test.each([
  ['schedule_message', 'scheduled_posts', 'Scheduled messages are turned off'],
  ['list_emoji', 'emoji', 'Custom emoji are turned off'],
  ['delete_emoji', 'emoji', 'Custom emoji are turned off'],
  ['set_status', 'custom_status', 'Custom statuses are turned off'],
  ['post_message', 'priority', 'Message priorities and acknowledgements are turned off'],
] as const)('%s with %s turned off names the administrator', async (name, feature, expected) => {
  const text = await failure(name, { disabled: [feature] });
  expect(text).toContain(expected);
  expect(text).toContain('Only an administrator can turn them on');
});

test('before version 7.7 a message is posted without its priority, and the result says so', async () => {
  const connection = await connectForTest({ fake: { version: '7.6' } });
  const channel_id = connection.fake.channel('town-square').id;
  const { data } = await connection.call('post_message', { channel_id, message: 'Fire', priority: 'urgent' });
  expect(data).toMatchObject({ message: 'Fire', priority_dropped: true });
});
