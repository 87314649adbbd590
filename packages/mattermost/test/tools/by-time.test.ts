// get_channel_messages with since and until: messages created between two times.
import { expect, test } from 'vitest';
import { type Connection, connectForTest } from '../connect.ts';

type Message = { id: string; message: string };

/** Follows `next` until the end; returns the texts. */
async function readAll(connection: Connection, args: Record<string, unknown>): Promise<string[]> {
  const texts: string[] = [];
  for (let next: Record<string, unknown> | undefined = args; next; ) {
    const { data, isError, text } = await connection.call('get_channel_messages', next);
    if (isError) throw new Error(text);
    texts.push(...data.messages.map(({ message }: Message) => message));
    next = data.truncated ? { channel_id: args.channel_id, ...data.next } : undefined;
  }
  return texts;
}

async function bigChannel(postCount: number) {
  const connection = await connectForTest({ fake: { postCount } });
  const { fake } = connection;
  const channel_id = fake.channel('big').id;
  const posts = (fake.world.timeline.get(channel_id) ?? []).filter(({ type }) => !type);
  const timeOf = (number: number) => posts[number - 1]?.create_at ?? 0;
  const texts = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, index) => `Message ${from + index}`);
  return { connection, fake, channel_id, timeOf, texts };
}

test('a window far in the past is read exactly, page by page, with few requests', async () => {
  const { connection, fake, channel_id, timeOf, texts } = await bigChannel(2000);
  const window = { channel_id, since: timeOf(300), until: timeOf(420), per_page: 50 };
  fake.requests.length = 0;
  expect(await readAll(connection, window)).toEqual(texts(301, 420));
  expect(fake.requests.length).toBeLessThan(50);
});

test('windows at the ends of a channel, and empty ones', async () => {
  const { connection, channel_id, timeOf, texts } = await bigChannel(30);
  const read = (since: number, until: number) => readAll(connection, { channel_id, since, until, per_page: 7 });
  expect(await read(timeOf(1) - 1000, timeOf(3))).toEqual(texts(1, 3));
  expect(await read(timeOf(28), Date.now() + 1000)).toEqual(texts(29, 30));
  expect(await read(timeOf(30), Date.now() + 1000)).toEqual([]);
  expect(await read(1_000_000_000_000, 1_000_000_000_001)).toEqual([]);
  expect(await read(timeOf(1) - 1000, Date.now() + 1000)).toEqual(texts(1, 30));
});

test('a message keeps its place although it was answered or edited after the window', async () => {
  const { connection, fake, channel_id, timeOf } = await bigChannel(5);
  const window = { channel_id, since: timeOf(1), until: timeOf(3) };
  const [second] = fake.world.timeline.get(channel_id)?.filter(({ message }) => message === 'Message 2') ?? [];
  fake.say('bob', channel_id, 'A late reply', { root: second?.id ?? '' });
  expect(await readAll(connection, window)).toEqual(['Message 2', 'Message 3']);
});

test('an empty channel has no messages at any time', async () => {
  const connection = await connectForTest();
  const { data } = await connection.call('get_channel_messages', {
    channel_id: connection.fake.channel('open-door').id,
    since: '2020-01-01T00:00:00Z',
    until: '2021-01-01T00:00:00Z',
  });
  expect(data).toMatchObject({ messages: [], truncated: false });
});

test('truncated is exact: a page that ends with the window is the last one', async () => {
  const { connection, channel_id, timeOf } = await bigChannel(10);
  const window = { channel_id, since: timeOf(2), until: timeOf(6), per_page: 4 };
  const { data } = await connection.call('get_channel_messages', window);
  expect(data).toMatchObject({ truncated: false });
  expect(data.messages).toHaveLength(4);
});
