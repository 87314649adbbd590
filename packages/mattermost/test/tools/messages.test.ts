// Reading channels and threads completely, and writing messages.
import { expect, test } from 'vitest';
import { type Connection, connectForTest } from '../connect.ts';
import { defaultSeed } from '../fake/world/seed.ts';
import { storePost } from '../fake/world/store-post.ts';

/** All messages, following `next` to the end. */
async function readAll(connection: Connection, name: string, args: Record<string, unknown>) {
  const texts: string[][] = [];
  for (let next: Record<string, unknown> | undefined = {}; next; ) {
    const { data, isError, text }: Awaited<ReturnType<Connection['call']>> = await connection.call(name, {
      ...args,
      ...next,
    });
    if (isError) throw new Error(text);
    texts.push(data.messages.map((message: { message: string }) => message.message));
    next = data.truncated ? data.next : undefined;
  }
  return texts;
}

test('a channel of 2,000 messages is read page by page without gaps or duplicates', async () => {
  const connection = await connectForTest({ fake: { postCount: 2_000 } });
  const pages = await readAll(connection, 'get_channel_messages', {
    channel_id: connection.fake.channel('big').id,
    per_page: 200,
  });
  expect(pages).toHaveLength(10); // the last page is full and still known to be the last
  expect(pages.toReversed().flat()).toEqual(Array.from({ length: 2_000 }, (_, index) => `Message ${index + 1}`));
});

test('messages that arrive between two pages cause no duplicates', async () => {
  const connection = await connectForTest({ fake: { postCount: 10 } });
  const channel_id = connection.fake.channel('big').id;
  const first = await connection.call('get_channel_messages', { channel_id, per_page: 5 });
  connection.fake.say('bob', 'big', 'In between');
  const second = await connection.call('get_channel_messages', { channel_id, ...first.data.next });
  expect(second.data.messages.at(-1).message).toBe('Message 5');
  expect(second.data.truncated).toBe(false);
});

test('unread messages start with the first one and continue on the next pages', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const channel_id = fake.channel('town-square').id;
  for (let number = 1; number <= 8; number++) fake.say('bob', 'town-square', `New ${number}`);
  const pages = await readAll(connection, 'get_channel_messages', { channel_id, unread_only: true, limit_after: 10 });
  expect(pages).toHaveLength(1);
  const first = await connection.call('get_channel_messages', { channel_id, unread_only: true, limit_after: 4 });
  expect(first.data).toMatchObject({ truncated: true });
  const rest = await connection.call('get_channel_messages', { channel_id, ...first.data.next, per_page: 6 });
  expect(rest.data.messages.map(({ message }: { message: string }) => message)).toEqual(
    [3, 4, 5, 6, 7, 8].map((number) => `New ${number}`),
  );
  expect(rest.data.truncated).toBe(false);
});

test.each(['10.11', '6.7'])('a thread is read page by page on %s, with its first message once', async (version) => {
  const connection = await connectForTest({ fake: { version } });
  const { fake } = connection;
  const root = fake.say('alice', 'off-topic', 'Root');
  for (let number = 1; number <= 7; number++) fake.say('bob', 'off-topic', `Reply ${number}`, { root: root.id });
  const pages = await readAll(connection, 'get_thread', { post_id: root.id, per_page: 3 });
  expect(pages.flat()).toEqual(['Root', ...[1, 2, 3, 4, 5, 6, 7].map((number) => `Reply ${number}`)]);
});

test('threads are listed completely', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  for (let number = 1; number <= 5; number++) {
    const root = fake.say('alice', 'off-topic', `Root ${number}`);
    fake.say('bob', 'off-topic', 'Reply', { root: root.id });
  }
  const seen: string[] = [];
  for (let next: Record<string, unknown> | undefined = { per_page: 2 }; next; ) {
    const { data }: Awaited<ReturnType<Connection['call']>> = await connection.call('list_threads', {
      team_id: fake.team('main').id,
      ...next,
    });
    seen.push(...data.threads.map((thread: { root: { message: string } }) => thread.root.message));
    next = data.truncated ? data.next : undefined;
  }
  expect(seen).toEqual(['Root 5', 'Root 4', 'Root 3', 'Root 2', 'Root 1', 'The plan for the release']);
});

test.each([
  ['elasticsearch', 120, { truncated: true, next: { page: 1, per_page: 100 } }],
  ['elasticsearch', 99, { truncated: false }],
  ['database', 150, { truncated: true, note: expect.stringContaining('narrow') }],
  ['database', 80, { truncated: false }],
] as const)('a search by %s with %d hits says whether there is more', async (searchEngine, count, expected) => {
  const connection = await connectForTest({ fake: { searchEngine } });
  for (let number = 0; number < count; number++) connection.fake.say('bob', 'off-topic', `needle ${number}`);
  const { data } = await connection.call('search_messages', {
    team_id: connection.fake.team('main').id,
    terms: 'needle',
    per_page: 100,
  });
  expect(data).toMatchObject(expected);
  expect(data.next).toEqual('next' in expected ? expected.next : undefined);
});

test('a reply to a reply is posted to the root of the thread', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const channel_id = fake.channel('town-square').id;
  const { data } = await connection.call('post_message', {
    channel_id,
    message: 'Me too',
    root_id: fake.post('plan-2').id,
  });
  expect(fake.world.post(data.id).root_id).toBe(fake.post('plan').id);
});

test('a reply to a thread of another channel is refused', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const { isError, text } = await connection.call('post_message', {
    channel_id: fake.channel('off-topic').id,
    message: 'Here?',
    root_id: fake.post('plan').id,
  });
  expect(isError).toBe(true);
  expect(text).toContain('use the channel of the thread');
  expect(fake.requests.filter(({ method }) => method === 'POST')).toEqual([]);
});

test('a file that Mattermost would drop is refused before posting', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const channel_id = fake.channel('off-topic').id;
  const send = (file_ids: string[]) => connection.call('post_message', { channel_id, message: 'See', file_ids });
  const upload = { channel_id, content_base64: 'YQ==', filename: 'a.txt' };
  const { id } = (await connection.call('upload_file', upload)).data;
  expect((await send([id])).data.files).toMatchObject([{ id }]);
  expect((await send([id])).text).toMatch(/^file_ids: \w+ is already attached to message \w+.*Upload it again/);
  const [used = ''] = fake.post('notes').file_ids;
  expect((await send([used])).text).toContain('is already attached to message');
  expect((await send(['x'.repeat(26)])).text).toMatch(/^Resource not found/);
  const foreign = fake.world.files.get(used)?.info;
  if (foreign) foreign.post_id = '';
  expect((await send([used])).text).not.toContain('"id"');
  expect((fake.world.timeline.get(channel_id) ?? []).filter(({ message }) => message === 'See')).toHaveLength(1);
});

test('the result names files that Mattermost dropped', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const channel_id = fake.channel('off-topic').id;
  const upload = { channel_id, content_base64: 'YQ==', filename: 'a.txt' };
  const { id } = (await connection.call('upload_file', upload)).data;
  const body = { ...fake.say('alice', 'off-topic', 'See'), file_ids: [] };
  fake.fail({ method: 'POST', path: /posts$/, status: 201, body });
  const { data } = await connection.call('post_message', { channel_id, message: 'See', file_ids: [id] });
  expect(data.files_dropped).toEqual([id]);
});

test('the result of a long message is cut', async () => {
  const connection = await connectForTest();
  const channel_id = connection.fake.channel('off-topic').id;
  const message = 'x'.repeat(16_383);
  const posted = await connection.call('post_message', { channel_id, message });
  expect(posted.data).toMatchObject({ characters_cut: 15_883, channel_id, user_id: connection.fake.user('alice').id });
  expect(posted.text.length).toBeLessThan(1500);
  const updated = await connection.call('update_message', { post_id: posted.data.id, message: `${message.slice(1)}y` });
  expect(updated.text.length).toBeLessThan(1500);
  expect((await connection.call('get_post', { post_id: posted.data.id })).data.message).toHaveLength(16_383);
});

test.each(['from:@bob build', 'FROM: @bob build', 'build -from:@carol'])(
  'a search for %s drops the @ of the name',
  async (terms) => {
    const connection = await connectForTest();
    const { data } = await connection.call('search_messages', { team_id: connection.fake.team('main').id, terms });
    expect(data.messages.map(({ id }: { id: string }) => id)).toEqual([connection.fake.post('mention').id]);
  },
);

test('reading does not move the read marker; posting and marking do, for members', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const channel_id = fake.channel('town-square').id;
  const unread = () => fake.world.member(channel_id, fake.user('alice').id)?.mention_count;
  await connection.call('get_channel_messages', { channel_id, unread_only: true });
  expect(unread()).toBe(1);
  await connection.call('post_message', { channel_id, message: 'Here' });
  expect(unread()).toBe(0);
  const { tools } = await connection.client.listTools();
  expect(tools.find(({ name }) => name === 'mark_channel_viewed')?.description).toContain('post_message');
  const outside = await connection.call('mark_channel_viewed', { channel_id: fake.channel('open-door').id });
  expect(outside.text).toMatch(/^Refused: only members.*join_channel/);
});

test('editing keeps other props, the pin and the files', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const post = fake.say('alice', 'off-topic', 'Before');
  post.props = { from_bot: 'true', attachments: [{ text: 'old' }] };
  post.is_pinned = true;
  await connection.call('update_message', { post_id: post.id, message: 'After', attachments: [{ text: 'new' }] });
  expect(fake.world.post(post.id)).toMatchObject({
    message: 'After',
    is_pinned: true,
    props: { from_bot: 'true', attachments: [{ text: 'new' }] },
  });
  await connection.call('update_message', { post_id: post.id, message: 'Later' });
  expect(fake.world.post(post.id)).toMatchObject({ message: 'Later', props: { from_bot: 'true' } });
});

test('a long message is cut in a list, with a note, and complete on its own', async () => {
  const connection = await connectForTest();
  const { id } = connection.fake.say('bob', 'off-topic', 'x'.repeat(10_000));
  const { data } = await connection.call('get_channel_messages', {
    channel_id: connection.fake.channel('off-topic').id,
  });
  expect(data.messages.at(-1)).toMatchObject({ id, characters_cut: 6000 });
  expect((await connection.call('get_post', { post_id: id })).data.message).toHaveLength(10_000);
});

test('long messages of a page are cut to a size that clients accept; short ones are not', async () => {
  const connection = await connectForTest();
  for (let number = 0; number < 100; number++) connection.fake.say('bob', 'off-topic', `${number} ${'x'.repeat(8000)}`);
  connection.fake.say('bob', 'off-topic', 'short');
  const channel_id = connection.fake.channel('off-topic').id;
  const { data, text } = await connection.call('get_channel_messages', { channel_id, per_page: 101 });
  expect(data.messages).toHaveLength(101);
  expect(data.messages.at(-1).message).toBe('short');
  expect(text.length).toBeLessThan(80_000);
});

test('attachments count as text of a list and are cut with it; a single message has them complete', async () => {
  const connection = await connectForTest();
  const { fake } = connection;
  const attachments = [
    { title: 'Build', text: 'x'.repeat(8000), fields: [{ title: 'Log', value: 'y'.repeat(8000) }] },
    { text: 'another' },
  ];
  const post = { user: fake.user('bob'), message: 'Red', props: { attachments } };
  for (let number = 0; number < 100; number++) storePost(fake.world, fake.channel('off-topic'), post);
  const { id } = storePost(fake.world, fake.channel('off-topic'), post);
  const channel_id = fake.channel('off-topic').id;
  const { data, text } = await connection.call('get_channel_messages', { channel_id, per_page: 101 });
  expect(text.length).toBeLessThan(80_000);
  const shown = data.messages.at(-1);
  expect(shown).toMatchObject({ id, message: 'Red', attachments: [{ title: 'Build' }] });
  expect(shown.attachments[0].text).toMatch(/^x+$/);
  const cut = JSON.stringify(attachments).length - JSON.stringify(shown.attachments).length;
  expect(shown.characters_cut).toBe(cut);
  const whole = await connection.call('get_post', { post_id: id });
  expect(whole.data.attachments).toEqual(attachments);
});

test('with many unread channels the inbox shows fewer messages of each', async () => {
  const names = Array.from({ length: 50 }, (_, number) => `noise-${number}`);
  const noise = names.map((name) => ({ name, team: 'main', members: ['alice', 'bob'] }));
  const connection = await connectForTest({ fake: { seed: { channels: [...defaultSeed.channels, ...noise] } } });
  for (const name of names) {
    for (let number = 0; number < 50; number++) connection.fake.say('bob', name, 'x'.repeat(1000));
  }
  const { data } = await connection.call('get_unread_inbox', { max_channels: 50, messages_per_channel: 50 });
  const channels: { messages: { message: string }[]; truncated?: boolean }[] = data.channels;
  const lengths = channels.flatMap(({ messages }) => messages.map(({ message }) => message.length));
  expect(lengths.reduce((sum, length) => sum + length, 0)).toBeLessThanOrEqual(60_000);
  expect(Math.min(...lengths.filter((length) => length > 100))).toBeGreaterThanOrEqual(300);
  expect(channels.filter(({ messages, truncated }) => messages.length > 0 && truncated).length).toBeGreaterThan(40);
});

test('threads of many teams are cut to the limit, with truncated set', async () => {
  const names = Array.from({ length: 9 }, (_, number) => `team-${number}`);
  const members = ['alice', 'bob'];
  const teams = names.map((name) => ({ name, displayName: name, members }));
  const channels = names.map((team) => ({ name: `${team}-talk`, team, members }));
  const connection = await connectForTest({ fake: { seed: { teams, channels, conversations: [], posts: [] } } });
  for (const { name } of channels) {
    for (let number = 0; number < 25; number++) {
      const root = connection.fake.say('alice', name, 'x'.repeat(1000)).id;
      connection.fake.say('bob', name, 'A reply', { root });
    }
  }
  const { data } = await connection.call('get_unread_inbox', { messages_per_channel: 0 });
  const threads: { root: { message: string } }[] = data.threads;
  expect(threads).toHaveLength(200);
  expect(threads.reduce((sum, { root }) => sum + root.message.length, 0)).toBeLessThanOrEqual(60_000);
  expect(data.truncated).toBe(true);
});

test('a page of long messages since a time fits into the limit', async () => {
  const connection = await connectForTest();
  const channel_id = connection.fake.channel('off-topic').id;
  const since = Date.now() - 60_000;
  for (let number = 0; number < 300; number++) connection.fake.say('bob', 'off-topic', 'x'.repeat(1000));
  const { data } = await connection.call('get_channel_messages', { channel_id, since, per_page: 200 });
  const messages: { message: string }[] = data.messages;
  expect(messages).toHaveLength(200);
  expect(messages.reduce((sum, { message }) => sum + message.length, 0)).toBeLessThanOrEqual(60_000);
});

test('usernames are fetched once, not for every call', async () => {
  const connection = await connectForTest();
  const channel_id = connection.fake.channel('town-square').id;
  for (let time = 0; time < 3; time++) await connection.call('get_channel_messages', { channel_id });
  expect(connection.fake.requests.filter(({ path }) => path.endsWith('/users/ids'))).toHaveLength(1);
});

test('a failed name lookup does not fail the call', async () => {
  const connection = await connectForTest({ config: { maxRetries: 0 } });
  connection.fake.fail({ path: /users\/ids/, status: 500, times: 9 });
  const { data } = await connection.call('get_channel_messages', {
    channel_id: connection.fake.channel('town-square').id,
  });
  expect(data.messages[0]).toMatchObject({ user_id: connection.fake.user('bob').id });
  expect(data.messages[0].user).toBeUndefined();
});

test('a failed part of the inbox is reported together with the rest', async () => {
  const connection = await connectForTest({ config: { maxRetries: 0 } });
  connection.fake.fail({ path: /threads/, status: 500 });
  const { data } = await connection.call('get_unread_inbox');
  expect(data.channels.length).toBeGreaterThan(0);
  expect(data.failures).toEqual([
    { what: expect.stringContaining('threads'), error: expect.stringContaining('Server error') },
  ]);
});
