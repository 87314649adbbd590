// The WebSocket of the fake: recipients and order of events.
import { once } from 'node:events';
import { afterEach, beforeEach, expect, test } from 'vitest';
import WebSocket from 'ws';
import { type FakeMattermost, startFakeMattermost } from './fake-mattermost.ts';
import { userOf } from './test-client.ts';

interface Heard {
  event?: string;
  seq?: number;
  seq_reply?: number;
  status?: string;
  data?: Record<string, string>;
  broadcast?: Record<string, unknown>;
}

let fake: FakeMattermost;

beforeEach(async () => {
  fake = await startFakeMattermost();
});

afterEach(() => fake.close());

async function connect(token: string, { header = false, query = '' } = {}) {
  const url = `${fake.url.replace('http', 'ws')}/api/v4/websocket${query}`;
  const socket = new WebSocket(url, header ? { headers: { Authorization: `Bearer ${token}` } } : {});
  const heard: Heard[] = [];
  const closed = once(socket, 'close');
  const waiting: { count: number; resolve: () => void }[] = [];
  socket.on('message', (data) => {
    heard.push(JSON.parse(String(data)));
    for (const { count, resolve } of waiting) if (heard.length >= count) resolve();
  });
  await once(socket, 'open');
  if (!header) socket.send(JSON.stringify({ seq: 1, action: 'authentication_challenge', data: { token } }));
  /** Resolves with all events once there are this many. */
  const until = async (count: number) => {
    if (heard.length < count) await new Promise<void>((resolve) => waiting.push({ count, resolve }));
    return heard;
  };
  return { socket, closed, until, send: (message: object) => socket.send(JSON.stringify(message)) };
}

test('a challenge gets hello and OK, a header gets hello, a bad token closes the connection', async () => {
  const alice = await connect(fake.token('alice'));
  expect(await alice.until(2)).toMatchObject([
    { event: 'hello', seq: 0, data: { server_version: '10.11.0' } },
    { status: 'OK', seq_reply: 1 },
  ]);
  const bob = await connect(fake.token('bob'), { header: true });
  expect(await bob.until(1)).toMatchObject([{ event: 'hello', seq: 0 }]);
  expect(fake.socketCount).toBe(2);
  const stranger = await connect('nonsense');
  await stranger.closed;
});

test('members of a channel get its posts in order with sequence numbers; others do not', async () => {
  const alice = await connect(fake.token('alice'), { header: true });
  await alice.until(1);
  fake.say('bob', 'secret', 'not for alice');
  const bob = userOf(fake, 'bob');
  const square = fake.channel('town-square').id;
  const post = await bob.post<{ id: string }>('/posts', { channel_id: square, message: 'hi @alice' });
  const { id } = post.body;
  await bob.put(`/posts/${id}/patch`, { message: 'bye' });
  await bob.post('/reactions', { user_id: fake.user('bob').id, post_id: id, emoji_name: 'wave' });
  await bob.remove(`/posts/${id}`);
  const heard = (await alice.until(5)).slice(1);
  expect(heard.map(({ event, seq }) => [event, seq])).toEqual([
    ['posted', 1],
    ['post_edited', 2],
    ['reaction_added', 3],
    ['post_deleted', 4],
  ]);
  const [posted] = heard;
  expect(posted?.broadcast).toMatchObject({ channel_id: square });
  expect(posted?.data).toMatchObject({ channel_type: 'O', sender_name: '@bob', team_id: fake.team('main').id });
  expect(JSON.parse(posted?.data?.mentions ?? '')).toEqual([fake.user('alice').id]);
  expect(JSON.parse(posted?.data?.post ?? '')).toMatchObject({ id, message: 'hi @alice' });
});

test('typing events go to other users, view events to the user', async () => {
  const alice = await connect(fake.token('alice'), { header: true });
  const bob = await connect(fake.token('bob'), { header: true });
  await Promise.all([alice.until(1), bob.until(1)]);
  const channel_id = fake.channel('town-square').id;
  alice.send({ seq: 1, action: 'user_typing', data: { channel_id, parent_id: '' } });
  expect((await bob.until(2))[1]).toMatchObject({ event: 'typing', data: { user_id: fake.user('alice').id } });
  await userOf(fake, 'alice').post('/channels/members/me/view', { channel_id });
  alice.send({ seq: 2, action: 'ping' });
  expect((await alice.until(4)).slice(1)).toMatchObject([
    { status: 'OK', seq_reply: 1 },
    { event: 'multiple_channels_viewed', seq: 1 },
    { status: 'OK', seq_reply: 2, data: { text: 'pong' } },
  ]);
});

test('connections end on command and with the token', async () => {
  const first = await connect(fake.token('alice'), { header: true });
  await first.until(1);
  fake.disconnectSockets();
  expect((await first.closed)[0]).toBe(1006);
  const second = await connect(fake.token('alice'), { header: true });
  await second.until(1);
  fake.disconnectSockets(1012);
  expect((await second.closed)[0]).toBe(1012);
  const third = await connect(fake.token('alice'), { header: true });
  await third.until(1);
  fake.revoke(fake.token('alice'));
  await third.closed;
  expect(fake.socketCount).toBe(0);
});

test('a client that reconnects in time gets missed events; a late one starts a new connection', async () => {
  const first = await connect(fake.token('alice'), { header: true });
  const [hello] = await first.until(1);
  const id = hello?.data?.connection_id ?? '';
  const leave = async ({ closed }: Awaited<ReturnType<typeof connect>>) => {
    fake.disconnectSockets();
    await closed;
    await expect.poll(() => fake.socketCount).toBe(0);
  };
  const comeBack = (next: number) =>
    connect(fake.token('alice'), { header: true, query: `?connection_id=${id}&sequence_number=${next}` });
  await leave(first);
  fake.say('bob', 'town-square', 'missed');
  const second = await comeBack(1);
  expect(await second.until(1)).toMatchObject([{ event: 'posted', seq: 1 }]);
  await leave(second);
  for (let index = 0; index < 200; index++) fake.say('bob', 'town-square', `much ${index}`);
  const [again] = await (await comeBack(2)).until(1);
  expect(again).toMatchObject({ event: 'hello', seq: 0 });
  expect(again?.data?.connection_id).not.toBe(id);
});

test('frozen connections get no events, and sequence numbers show the gap', async () => {
  const alice = await connect(fake.token('alice'), { header: true });
  await alice.until(1);
  fake.freezeSockets();
  fake.say('bob', 'town-square', 'lost');
  fake.freezeSockets(false);
  fake.say('bob', 'town-square', 'heard');
  expect((await alice.until(2))[1]).toMatchObject({ event: 'posted', seq: 2 });
});
