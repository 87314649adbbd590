// resolve: display names, full names, bare ids and archived channels.
import { beforeEach, describe, expect, test } from 'vitest';
import { type Connection, connectForTest } from '../connect.ts';
import { defaultSeed } from '../fake/world/seed.ts';

let connection: Connection;

const seed = {
  channels: [
    ...defaultSeed.channels,
    { name: 'ops-eu', team: 'main', displayName: 'Operations', members: ['bob'] },
    { name: 'ops-us', team: 'main', displayName: 'Operations', members: ['bob'] },
    { name: 'sales-old', team: 'main', displayName: 'Sales', members: ['alice'], archived: true },
    { name: 'sales', team: 'main', displayName: 'Sales', members: ['alice'] },
    { name: 'q-and-a', team: 'main', displayName: 'Q/A', type: 'P' as const, members: ['alice'] },
  ],
};

beforeEach(async () => {
  connection = await connectForTest({ fake: { seed } });
});

const resolve = (reference: string) => connection.call('resolve', { reference });

test.each([
  ['Town Square', 'town-square'],
  ['#Open Door', 'open-door'],
  ['private room', 'private-room'],
  ['Q/A', 'q-and-a'],
  ['#old-news', 'old-news'],
  ['Old News', 'old-news'],
  ['main/old-news', 'old-news'],
  ['Sales', 'sales'],
])('the display name "%s" leads to the channel %s', async (reference, name) => {
  const { data } = await resolve(reference);
  const archived = name === 'old-news' ? { archived: true } : {};
  expect(data).toMatchObject({
    kind: 'channel',
    channel_id: connection.fake.channel(name).id,
    channel: { name, ...archived },
  });
});

test('a display name of several channels lists them', async () => {
  const { isError, text } = await resolve('Operations');
  expect(isError).toBe(true);
  expect(text).toContain('several channels: #ops-eu, #ops-us');
});

test('the display name of a channel that this account cannot see is unknown', async () => {
  expect((await resolve('Secret')).text).toMatch(/^Resource not found: no channel "Secret"/);
});

test.each(['@Bob Baker', '@"Bob Baker"', '@al'])('%s is a full name or nickname', async (reference) => {
  const name = reference === '@al' ? 'alice' : 'bob';
  expect((await resolve(reference)).data).toMatchObject({ kind: 'user', user: { username: name } });
});

test('an unknown person is reported as such', async () => {
  expect((await resolve('@Nobody Here')).text).toMatch(/^Resource not found: no user "Nobody Here"/);
  expect((await resolve('@nobody')).text).toMatch(/^Resource not found: no user "nobody"/);
});

describe.each(['6.7', '10.11'])('bare ids on %s', (version) => {
  test('lead to a channel, message, user or team', async () => {
    const old = await connectForTest({ fake: { version } });
    const { fake } = old;
    const kindOf = async (reference: string) => (await old.call('resolve', { reference })).data;
    expect(await kindOf(fake.channel('off-topic').id)).toMatchObject({ kind: 'channel' });
    expect(await kindOf(fake.post('plan-1').id)).toMatchObject({ kind: 'post', root_id: fake.post('plan').id });
    expect(await kindOf(fake.user('bob').id)).toMatchObject({ kind: 'user', user: { username: 'bob' } });
    expect(await kindOf(fake.team('main').id)).toMatchObject({ kind: 'team', team: { name: 'main' } });
    const unknown = await old.call('resolve', { reference: 'x'.repeat(26) });
    expect(unknown.text).toMatch(/^Resource not found: x+ is no channel, message, user or team/);
  });
});

test('a bare id of a hidden channel is refused', async () => {
  const limited = await connectForTest({ environment: { MATTERMOST_READ_DENY_CHANNELS: 'off-topic' } });
  const { text } = await limited.call('resolve', { reference: limited.fake.channel('off-topic').id });
  expect(text).toMatch(/^Refused/);
});
