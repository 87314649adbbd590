// Channels as resources: read and watched in both protocol versions over HTTP, through lost and dead connections.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { type MattermostConfig, startHttp } from '@pocket-agent/mattermost';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { configFor, connectForTest, type Era, eras, newClient } from '../connect.ts';
import type { FakeMattermost, FakeOptions } from '../fake/fake-mattermost.ts';
import { selfSigned } from '../fake/self-signed.ts';
import { userOf } from '../fake/test-client.ts';
import { fakeForTest, folderForTest, memoryLog } from '../resources.ts';
import { until } from '../until.ts';
import { caughtUp, listening, open, uriOf, type Watching, watching } from './watching.ts';

afterEach(() => {
  vi.useRealTimers();
});

interface World {
  fake: FakeMattermost;
  url: string;
  logLines: string[];
}

interface WorldOptions {
  environment?: Record<string, string>;
  config?: Partial<MattermostConfig>;
  fake?: FakeOptions;
}

async function world({ environment = {}, config = {}, fake: fakeOptions = {} }: WorldOptions = {}): Promise<World> {
  const fake = await fakeForTest(fakeOptions);
  const base = { MCP_TRANSPORT: 'http', MCP_PORT: '0', MATTERMOST_AUTH_MODE: 'client_token' };
  const { log, logLines } = memoryLog();
  const server = await startHttp(configFor(fake, { environment: { ...base, ...environment }, config }), { log });
  onTestFinished(() => server.close());
  return { fake, url: server.url, logLines };
}

async function connectTo({ fake, url }: World, era: Era, user = 'alice'): Promise<Watching> {
  const client = newClient(era);
  const headers = { authorization: `Bearer ${fake.token(user)}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  onTestFinished(() => client.close());
  return watching(client, era);
}

/** Connects a client that watches town-square, and waits until it gets events. */
async function watchTownSquare(era: Era, options: WorldOptions = {}) {
  const place = await world(options);
  const watcher = await connectTo(place, era);
  const uri = uriOf(place.fake, 'town-square');
  await watcher.subscribe(uri);
  await listening(place.fake);
  return { ...place, watcher, uri };
}

describe.each(eras)('a client of the %s protocol', (era) => {
  test('reads the latest messages of a channel', async () => {
    const place = await world();
    const { client } = await connectTo(place, era);
    const { resourceTemplates } = await client.listResourceTemplates();
    expect(resourceTemplates[0]).toMatchObject({ uriTemplate: 'mattermost://channel/{channel_id}' });
    const uri = uriOf(place.fake, 'town-square');
    const { contents } = await client.readResource({ uri });
    const [content] = contents;
    expect(content).toMatchObject({ uri, mimeType: 'application/json' });
    const body = JSON.parse(content && 'text' in content ? content.text : '');
    expect(body).toMatchObject({ channel: 'Town Square', truncated: false });
    expect(body.messages.at(-1)).toMatchObject({ user: 'carol', message: 'The build is red again' });
    expect(place.fake.socketCount).toBe(0);
  });

  test('is notified of posts, edits and deletions only in the channel it watches', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era);
    fake.say('bob', 'off-topic', 'elsewhere');
    const post = fake.say('bob', 'town-square', 'first');
    await until(() => watcher.updates).toEqual([uri]);
    await fetch(`${fake.url}/api/v4/posts/${post.id}/patch`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${fake.token('bob')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'changed' }),
    });
    await until(() => watcher.updates).toEqual([uri, uri]);
    fake.unsay('bob', post.id);
    await until(() => watcher.updates).toEqual([uri, uri, uri]);
  });

  test('one socket per account is open while there are watchers', async () => {
    const place = await world();
    const { fake } = place;
    const [alice, again, bob] = [
      await connectTo(place, era),
      await connectTo(place, era),
      await connectTo(place, era, 'bob'),
    ];
    expect(fake.socketCount).toBe(0);
    const unsubscribe = [
      await alice.subscribe(uriOf(fake, 'town-square')),
      await again.subscribe(uriOf(fake, 'off-topic')),
      await bob.subscribe(uriOf(fake, 'town-square')),
    ];
    await open(fake, 2);
    await unsubscribe[0]?.();
    await unsubscribe[2]?.();
    await open(fake, 1);
    await unsubscribe[1]?.();
    await open(fake, 0);
  });

  test('a disconnected client no longer watches', async () => {
    const place = await world({ config: { pingMs: 50 } });
    const { client, subscribe } = await connectTo(place, era);
    await subscribe(uriOf(place.fake, 'town-square'));
    await open(place.fake);
    if (era === '2025' && client.transport instanceof StreamableHTTPClientTransport) {
      await client.transport.terminateSession();
    }
    await client.close();
    await open(place.fake, 0);
  });

  test('missed changes are notified after a reconnect', async () => {
    const place = await world();
    const { fake } = place;
    const watcher = await connectTo(place, era);
    const uri = uriOf(fake, 'town-square');
    await watcher.subscribe(uri);
    await watcher.subscribe(uriOf(fake, 'off-topic'));
    await listening(fake);
    fake.disconnectSockets();
    fake.say('bob', 'town-square', 'missed');
    await until(() => watcher.updates).toEqual([uri]);
    await open(fake);
    fake.say('bob', 'town-square', 'heard');
    await until(() => watcher.updates).toEqual([uri, uri]);
  });

  test('a dead connection is detected and replaced', async () => {
    const { fake, logLines, watcher, uri } = await watchTownSquare(era, { config: { pingMs: 100 } });
    logLines.length = 0;
    fake.freezeSockets();
    fake.say('bob', 'town-square', 'said to the dead');
    await until(() => logLines.join('')).toContain('socket_lost');
    fake.freezeSockets(false);
    await until(() => watcher.updates).toEqual([uri]);
  });

  test('missing events are detected by their sequence numbers', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era);
    fake.freezeSockets();
    fake.say('bob', 'town-square', 'lost');
    fake.freezeSockets(false);
    fake.say('bob', 'off-topic', 'heard');
    await until(() => watcher.updates).toEqual([uri]);
    expect(caughtUp(fake)).toBe(2);
  });

  test('a post written during a catch-up is notified once', async () => {
    const place = await world();
    const { fake } = place;
    const watcher = await connectTo(place, era);
    const uri = uriOf(fake, 'town-square');
    const looks = () => fake.requests.filter(({ query }) => query.per_page === '1').length;
    fake.fail({
      path: /[?&]per_page=1&/,
      meanwhile() {
        fake.freezeSockets();
        fake.say('bob', 'town-square', 'lost');
        fake.freezeSockets(false);
        fake.say('bob', 'off-topic', 'heard');
      },
    });
    await watcher.subscribe(uri);
    await until(looks).toBe(2);
    expect(watcher.updates).toEqual([uri]);
  });

  test('missed changes are notified although Mattermost fails at first', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era);
    const outage = fake.fail({ path: /since=/, status: 500, times: 3 });
    fake.disconnectSockets();
    fake.say('bob', 'town-square', 'missed');
    await until(() => watcher.updates).toEqual([uri]);
    expect(outage.hits).toBe(3);
  });

  test('missed changes are notified although a stale cache of Mattermost hides them', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era);
    const { publish } = fake.world;
    fake.world.publish = () => {}; // suppress events from here on
    const { id, create_at } = fake.channel('town-square');
    fake.say('bob', 'town-square', 'missed');
    fake.world.lastPostTimes.set(id, create_at);
    fake.world.publish = publish;
    fake.disconnectSockets();
    await until(() => watcher.updates).toEqual([uri]);
  });

  test('a change is notified as soon as the access check succeeds', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era, {
      environment: { MATTERMOST_READ_DENY_CHANNELS: 'off-topic' },
    });
    // wait until the cached channel has expired
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 120_000 });
    const outage = fake.fail({ path: /channels\/\w+$/, status: 500, times: 3 });
    fake.say('bob', 'town-square', 'for alice');
    await until(() => watcher.updates).toEqual([uri]);
    expect(outage.hits).toBe(3);
  });

  test('is notified of added and removed reactions', async () => {
    const { fake, watcher, uri } = await watchTownSquare(era);
    const [bob, post_id] = [userOf(fake, 'bob'), fake.post('plan').id];
    await bob.post('/reactions', { user_id: fake.user('bob').id, post_id, emoji_name: 'rocket' });
    await until(() => watcher.updates).toEqual([uri]);
    await bob.remove(`/users/me/posts/${post_id}/reactions/rocket`);
    await until(() => watcher.updates).toEqual([uri, uri]);
  });

  test('only members can watch a public channel; others get the advice to join it', async () => {
    const place = await world();
    const { fake, logLines } = place;
    const watcher = await connectTo(place, era);
    const uri = uriOf(fake, 'open-door');
    if (era === '2025') await expect(watcher.subscribe(uri)).rejects.toThrow('join_channel');
    else await watcher.subscribe(uri);
    if (era === '2026') await until(() => logLines.join('')).toMatch(/subscription_refused.*join_channel/);
    expect(fake.socketCount).toBe(0);
    const user_id = fake.user('alice').id;
    await userOf(fake, 'alice').post(`/channels/${fake.channel('open-door').id}/members`, { user_id });
    await watcher.subscribe(uri);
    await listening(fake);
    fake.say('bob', 'open-door', 'Come in');
    await until(() => watcher.updates).toEqual([uri]);
  });

  test('a hidden channel can be neither read nor watched', async () => {
    const place = await world({ environment: { MATTERMOST_READ_DENY_CHANNELS: 'off-topic' } });
    const { fake } = place;
    const watcher = await connectTo(place, era);
    for (const channel of ['off-topic', 'secret']) {
      const uri = uriOf(fake, channel);
      await expect(watcher.client.readResource({ uri })).rejects.toThrow();
      if (era === '2025') await expect(watcher.subscribe(uri)).rejects.toThrow();
      else await watcher.subscribe(uri);
    }
    const carol = await connectTo(place, era, 'carol');
    const uri = uriOf(fake, 'secret');
    await carol.subscribe(uri);
    await listening(fake);
    fake.say('bob', 'off-topic', 'denied to all');
    fake.say('bob', 'secret', 'not for alice');
    await until(() => carol.updates).toEqual([uri]);
    expect(watcher.updates).toEqual([]);
  });

  test('invalid URIs are rejected', async () => {
    const { client, subscribe } = await connectTo(await world(), era);
    for (const uri of ['mattermost://channel/short', 'https://example.com/', 'mattermost://channel/../x']) {
      await expect(client.readResource({ uri })).rejects.toThrow();
      if (era === '2025') await expect(subscribe(uri)).rejects.toThrow();
    }
  });

  test('a revoked token closes the socket for good', async () => {
    const place = await world();
    const { fake } = place;
    const watcher = await connectTo(place, era);
    await watcher.subscribe(uriOf(fake, 'town-square'));
    await open(fake);
    fake.revoke(fake.token('alice'));
    await until(() => place.logLines.join('')).toContain('socket_refused');
    expect(fake.socketCount).toBe(0);
    expect(place.logLines.join('')).not.toContain(fake.token('alice'));
  });

  test('the listener survives an outage of Mattermost', async () => {
    const place = await world();
    const { fake } = place;
    const watcher = await connectTo(place, era);
    const uri = uriOf(fake, 'town-square');
    await watcher.subscribe(uri);
    await open(fake);
    const outage = fake.fail({ path: /since=/, status: 500, times: 1000 });
    fake.disconnectSockets(1012);
    await until(() => place.logLines.join('')).toContain('catch_up_failed');
    outage.cancel();
    fake.say('bob', 'town-square', 'again');
    await until(() => watcher.updates).toContain(uri);
  });
});

test('a client that subscribes twice is notified once and unsubscribes once', async () => {
  const { client, fake } = await connectForTest({ era: '2025' });
  const watcher = watching(client, '2025');
  const uri = uriOf(fake, 'town-square');
  await watcher.subscribe(uri);
  const end = await watcher.subscribe(uri);
  await listening(fake);
  fake.say('bob', 'town-square', 'once');
  await until(() => watcher.updates).toEqual([uri]);
  await end();
  await open(fake, 0);
});

test('the socket trusts configured certificates', async () => {
  const tls = selfSigned();
  const file = join(await folderForTest(), 'ca.pem');
  await writeFile(file, tls.cert);
  const environment = { MATTERMOST_EXTRA_CA_CERTS: file };
  const { fake, watcher, uri } = await watchTownSquare('2026', { fake: { tls }, environment });
  fake.say('bob', 'town-square', 'over TLS');
  await until(() => watcher.updates).toEqual([uri]);
});
