// Following `next` yields every message exactly once for any page size, also within one millisecond.
import { describe, expect, test } from 'vitest';
import { type Connection, type ConnectOptions, connectForTest } from '../connect.ts';
import type { FakeMattermost, FakeOptions } from '../fake/fake-mattermost.ts';
import type { Post } from '../fake/world/model.ts';

const start = (fake: FakeOptions = {}, options: ConnectOptions = {}) => connectForTest({ ...options, fake });

/** A deterministic pseudo-random number below `limit`. */
function randomly(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * limit);
  };
}

interface Item {
  id: string;
  root?: { id: string };
}

/** The ids of each page; a truncated page must be followed by another one. */
async function follow(connection: Connection, name: string, args: Record<string, unknown>, list = 'messages') {
  const pages: string[][] = [];
  for (let next: Record<string, unknown> | undefined = {}; next; ) {
    const answer: Awaited<ReturnType<Connection['call']>> = await connection.call(name, { ...args, ...next });
    if (answer.isError) throw new Error(answer.text);
    if (pages.length > 2000) throw new Error('Too many pages.');
    pages.push(answer.data[list].map((item: Item) => item.id));
    next = answer.data.truncated ? answer.data.next : undefined;
    if (answer.data.truncated && next === undefined) throw new Error('truncated is true without next.');
  }
  return pages;
}

const idsOf = (posts: readonly Post[]) => posts.map(({ id }) => id);
const sorted = (ids: readonly string[]) => [...ids].sort();

/** Writes messages in bursts of up to four in a millisecond, some as replies. */
function fill(
  fake: FakeMattermost,
  channel: string,
  { count, random }: { count: number; random: (limit: number) => number },
) {
  const posts: Post[] = [];
  while (posts.length < count) {
    const burst = Math.min(random(3) === 0 ? 1 + random(4) : 1, count - posts.length);
    fake.world.atOnce(() => {
      for (let number = 0; number < burst; number++) {
        const root = random(4) === 0 ? posts.filter(({ root_id }) => !root_id)[random(posts.length)] : undefined;
        posts.push(fake.say(random(2) ? 'alice' : 'bob', channel, `${posts.length}`, { root: root?.id ?? '' }));
      }
    });
  }
  return posts;
}

describe.each(['6.5', '6.7', '10.11'])('threads of Mattermost %s', (version) => {
  test.each([1, 2])('return each message once and in order, by the id of any message (%d)', async (seed) => {
    const random = randomly(seed);
    const connection = await start({ version });
    const { fake } = connection;
    const root = fake.say('alice', 'off-topic', 'root');
    const replies: Post[] = [];
    while (replies.length < 30) {
      fake.world.atOnce(() => {
        for (let number = random(3); number >= 0; number--) {
          replies.push(fake.say('bob', 'off-topic', `${replies.length}`, { root: root.id }));
        }
      });
    }
    for (let time = 0; time < 6; time++) {
      const asked = random(3) === 0 ? root : (replies[random(replies.length)] ?? root);
      const per_page = 1 + random(12);
      const pages = await follow(connection, 'get_thread', { post_id: asked.id, per_page });
      expect(pages[0]?.[0]).toBe(root.id);
      expect(pages.every((page) => page.length <= per_page)).toBe(true);
      expect(sorted(pages.flat())).toEqual(sorted(idsOf([root, ...replies])));
      expect(pages.flat().map((id) => fake.world.post(id).create_at)).toEqual(
        [root, ...replies].map(({ create_at }) => create_at),
      );
    }
  });

  test('of 101 messages are read completely by the id of the last reply, with root_id', async () => {
    const connection = await start({ version });
    const { fake } = connection;
    const root = fake.say('alice', 'off-topic', 'root');
    const replies = Array.from({ length: 100 }, () => fake.say('bob', 'off-topic', 'reply', { root: root.id }));
    const post_id = replies.at(-1)?.id ?? '';
    expect((await follow(connection, 'get_thread', { post_id })).flat()).toEqual(idsOf([root, ...replies]));
    const last = replies.at(-5);
    const from = { from_post: last?.id, from_create_at: last?.create_at };
    const { data } = await connection.call('get_thread', { post_id, ...from });
    expect(data).toMatchObject({ root_id: root.id, truncated: false });
    expect(data.messages).toHaveLength(4);
  });
});

describe('a channel', () => {
  test.each([1, 2])('is read backwards and forwards in pages of any size (%d)', async (seed) => {
    const random = randomly(seed);
    const connection = await start();
    const { fake } = connection;
    const channel_id = fake.channel('off-topic').id;
    const first = fake.say('bob', 'off-topic', 'first');
    const posts = fill(fake, 'off-topic', { count: 30, random });
    for (const per_page of [1, 2 + random(5), 7 + random(20), 200]) {
      const back = await follow(connection, 'get_channel_messages', { channel_id, per_page });
      const times = back
        .toReversed()
        .flat()
        .map((id) => fake.world.post(id).create_at);
      expect(sorted(back.flat())).toEqual(sorted(idsOf([first, ...posts])));
      expect(times).toEqual(times.toSorted((a, b) => a - b));
      const forward = await follow(connection, 'get_channel_messages', { channel_id, after: first.id, per_page });
      expect(sorted(forward.flat())).toEqual(sorted(idsOf(posts)));
    }
  });

  test.each([1, 2, 3])('returns its unread messages once, with and without replies (%d)', async (seed) => {
    const random = randomly(seed);
    const connection = await start({}, { user: 'carol' });
    const { fake } = connection;
    const channel_id = fake.channel('town-square').id;
    fake.say('carol', 'town-square', 'read up to here');
    const posts = fill(fake, 'town-square', { count: 40, random });
    for (const collapsed_threads of [false, true]) {
      const args = { channel_id, unread_only: true, collapsed_threads, limit_after: 1 + random(9) };
      const pages = await follow(connection, 'get_channel_messages', args);
      const wanted = posts.filter(({ root_id }) => !(collapsed_threads && root_id));
      expect(sorted(pages.flat())).toEqual(sorted(idsOf(wanted)));
    }
    const { data } = await connection.call('get_channel_messages', { channel_id, unread_only: true, limit_before: 2 });
    expect(data.messages.slice(0, 2).map(({ message }: { message: string }) => message)).toEqual([
      'The build is red again',
      'read up to here',
    ]);
  });

  test('with only unread messages is read from its first millisecond', async () => {
    const connection = await start({}, { user: 'carol' });
    const { fake } = connection;
    const channel = fake.channel('secret');
    for (const post of fake.world.timeline.get(channel.id) ?? []) post.delete_at = fake.world.now();
    const member = fake.world.member(channel.id, fake.user('carol').id);
    if (member) member.last_viewed_at = fake.world.now();
    const posts = fake.world.atOnce(() =>
      Array.from({ length: 3 }, (_, number) => fake.say('bob', 'secret', `${number}`)),
    );
    posts.push(fake.say('bob', 'secret', 'later'));
    const args = { channel_id: channel.id, unread_only: true, limit_after: 2 };
    expect(sorted((await follow(connection, 'get_channel_messages', args)).flat())).toEqual(sorted(idsOf(posts)));
  });

  test('with more messages in one millisecond than a page holds loses none', async () => {
    const connection = await start();
    const { fake } = connection;
    const channel_id = fake.channel('off-topic').id;
    const many = fake.world.atOnce(() => Array.from({ length: 25 }, () => fake.say('bob', 'off-topic', 'import')));
    const last = fake.say('bob', 'off-topic', 'last');
    const pages = await follow(connection, 'get_channel_messages', { channel_id, per_page: 10 });
    expect(sorted(pages.flat())).toEqual(sorted(idsOf([...many, last])));
  });
});

describe('a channel with new messages during a read', () => {
  test.each([1, 2, 5])(
    'returns each message once, with the rest of a millisecond, after %d new messages',
    async (count) => {
      const connection = await start();
      const { fake } = connection;
      const channel_id = fake.channel('off-topic').id;
      const old = fake.world.atOnce(() => Array.from({ length: 5 }, () => fake.say('bob', 'off-topic', 'import')));
      const last = fake.say('bob', 'off-topic', 'last');
      fake.fail({
        path: /\/posts\?.*page=3&per_page=1$/,
        meanwhile: () => {
          for (let number = 0; number < count; number++) fake.say('bob', 'off-topic', 'new');
        },
      });
      const pages = await follow(connection, 'get_channel_messages', { channel_id, per_page: 3 });
      expect(sorted(pages.flat())).toEqual(sorted(idsOf([...old, last])));
    },
  );

  test('returns each message once with the largest page size', async () => {
    const connection = await start({ postCount: 450 });
    const { fake } = connection;
    const channel_id = fake.channel('big').id;
    const old = idsOf(fake.world.timeline.get(channel_id) ?? []);
    const fault = fake.fail({ path: /page=200&per_page=1$/, meanwhile: () => fake.say('bob', 'big', 'new') });
    const pages = await follow(connection, 'get_channel_messages', { channel_id, per_page: 200 });
    expect(sorted(pages.flat())).toEqual(sorted(old));
    expect(fault.hits).toBe(1);
  });
});

describe('changes since a time', () => {
  test('are returned once, in short pages', async () => {
    const random = randomly(7);
    const connection = await start({ postCount: 1 });
    const { fake } = connection;
    const channel_id = fake.channel('big').id;
    const old = fake.say('bob', 'big', 'old');
    const since = fake.world.now();
    const posts = fill(fake, 'big', { count: 1300, random });
    old.update_at = fake.world.now();
    const pages = await follow(connection, 'get_channel_messages', { channel_id, since, per_page: 200 });
    const changed = [old, ...posts].filter(({ update_at }) => update_at > since);
    expect(sorted(pages.flat())).toEqual(sorted(idsOf(changed)));
    expect(Math.max(...pages.map((page) => page.length))).toBe(200);
  });

  test('are returned although another client got a truncated response', async () => {
    const connection = await start({ postCount: 2500 });
    const { fake } = connection;
    const channel_id = fake.channel('big').id;
    const posts = fake.world.timeline.get(channel_id) ?? [];
    const headers = { authorization: `Bearer ${fake.token('bob')}` };
    await fetch(`${fake.url}/api/v4/channels/${channel_id}/posts?since=1`, { headers });
    const since = posts[2000]?.create_at;
    const pages = await follow(connection, 'get_channel_messages', { channel_id, since, per_page: 100 });
    expect(pages.flat()).toEqual(idsOf(posts.slice(2001)));
  });
});

test.each([1, 7, 10, 25, 60])('25 saved messages are returned once in pages of %d', async (per_page) => {
  const connection = await start();
  const { fake } = connection;
  const posts = Array.from({ length: 24 }, (_, number) => fake.say('bob', 'off-topic', `${number}`));
  const user_id = fake.user('alice').id;
  for (const { id } of posts) {
    fake.world.preferences.push({ user_id, category: 'flagged_post', name: id, value: 'true' });
  }
  const pages = await follow(connection, 'list_saved_messages', { per_page });
  expect(pages.flat()).toEqual(idsOf([fake.post('notes'), ...posts]).reverse());
});

test.each(['database', 'elasticsearch'] as const)(
  'search results by %s are returned once in pages of any size',
  async (engine) => {
    const connection = await start({ searchEngine: engine });
    const { fake } = connection;
    const posts = Array.from({ length: 45 }, (_, number) => fake.say('bob', 'off-topic', `needle ${number}`));
    const args = { team_id: fake.team('main').id, terms: 'needle' };
    for (const per_page of [1, 10, 45, 60]) {
      const pages = await follow(connection, 'search_messages', { ...args, per_page });
      expect(pages.flat()).toEqual(idsOf(posts).reverse());
      expect(Math.max(...pages.map((page) => page.length))).toBeLessThanOrEqual(per_page);
    }
  },
);

test.each(['', 'secret'])(
  'threads last active in the same millisecond are listed once, with "%s" hidden',
  async (hidden) => {
    const connection = await start({}, { environment: { MATTERMOST_READ_DENY_CHANNELS: hidden } });
    const { fake } = connection;
    const roots = Array.from({ length: 20 }, (_, number) => fake.say('alice', 'off-topic', `Root ${number}`));
    for (let at = 0; at < roots.length; at += 3) {
      fake.world.atOnce(() => {
        for (const root of roots.slice(at, at + 3)) fake.say('bob', 'off-topic', 'Reply', { root: root.id });
      });
    }
    const wanted = sorted(idsOf([fake.post('plan'), ...roots]));
    for (const per_page of [1, 2, 4, 7, 21]) {
      const pages = await follow(connection, 'list_threads', { team_id: fake.team('main').id, per_page }, 'threads');
      expect(sorted(pages.flat())).toEqual(wanted);
    }
  },
);
