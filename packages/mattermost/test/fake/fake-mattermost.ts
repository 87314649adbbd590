// A fake Mattermost server for tests: real HTTP and WebSocket, stateful, with faults on command.
import { createServer } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { bookmarkRoutes } from './api/bookmarks.ts';
import { channelMemberRoutes } from './api/channel-members.ts';
import { channelRoutes } from './api/channels.ts';
import { fileRoutes } from './api/files.ts';
import { type OAuthApp, oauthRoutes } from './api/oauth.ts';
import { postListRoutes } from './api/post-lists.ts';
import { deletePost, postRoutes } from './api/posts.ts';
import { preferenceRoutes } from './api/preferences.ts';
import { reactionRoutes } from './api/reactions.ts';
import { searchRoutes } from './api/search.ts';
import { openSystemRoutes } from './api/system.ts';
import { teamRoutes } from './api/teams.ts';
import { threadRoutes } from './api/threads.ts';
import { userRoutes } from './api/users.ts';
import { addFeatures } from './features/all.ts';
import type { Fault, FaultHandle } from './http/faults.ts';
import { HttpCore, type RecordedRequest } from './http/http-core.ts';
import { RateLimit, type RateLimitOptions } from './http/rate-limit.ts';
import { RouteTable } from './http/routes.ts';
import { type Names, named, plant } from './plant.ts';
import { Sockets } from './websocket.ts';
import type { Channel, Post, Team, User } from './world/model.ts';
import { defaultSeed, type Seed } from './world/seed.ts';
import { storePost } from './world/store-post.ts';
import { World, type WorldOptions } from './world/world.ts';

export interface FakeOptions extends Partial<WorldOptions> {
  /** Replaces parts of the default seed. */
  seed?: Partial<Seed>;
  /** Adds a channel `big` of alice and bob in the first team, with this many posts. */
  postCount?: number;
  /** HTTPS with this key and certificate. */
  tls?: { key: string; cert: string };
  /** The OAuth application; a public one has no secret. */
  oauthApp?: Partial<OAuthApp>;
  /** Default: none. */
  rateLimit?: RateLimitOptions;
}

export class FakeMattermost {
  readonly world: World;
  readonly url: string;
  readonly oauthApp: OAuthApp;
  readonly #core: HttpCore;
  readonly #sockets: Sockets;
  readonly #names: Names;
  readonly #stop: () => Promise<void>;

  constructor(parts: {
    world: World;
    url: string;
    oauthApp: OAuthApp;
    core: HttpCore;
    sockets: Sockets;
    names: Names;
    stop: () => Promise<void>;
  }) {
    this.world = parts.world;
    this.url = parts.url;
    this.oauthApp = parts.oauthApp;
    this.#core = parts.core;
    this.#sockets = parts.sockets;
    this.#names = parts.names;
    this.#stop = parts.stop;
  }

  /** All requests in order of arrival; set its length to 0 to reset. */
  get requests(): RecordedRequest[] {
    return this.#core.requests;
  }

  /** Requests to paths the fake does not implement; tests expect none. */
  get unanswered(): string[] {
    return this.#core.unanswered;
  }

  get inFlight(): number {
    return this.#core.inFlight;
  }

  get maxInFlight(): number {
    return this.#core.maxInFlight;
  }

  /** Authenticated WebSocket connections. */
  get socketCount(): number {
    return this.#sockets.count;
  }

  user(name: string): User {
    return named(this.#names.users, name);
  }

  token(name: string): string {
    return named(this.#names.tokens, name);
  }

  team(name: string): Team {
    return named(new Map([...this.world.teams.values()].map((team) => [team.name, team])), name);
  }

  /** By name, or by the sorted users of a direct or group channel: `alice,bob`. */
  channel(name: string): Channel {
    return named(this.#names.channels, name);
  }

  /** A post of the seed by its key. */
  post(key: string): Post {
    return named(this.#names.posts, key);
  }

  /** Posts as a user; the channel by name or id. */
  say(user: string, channel: string, message: string, { root = '' }: { root?: string } = {}): Post {
    const target = this.world.channels.get(channel) ?? this.channel(channel);
    return storePost(this.world, target, { user: this.user(user), message, rootId: root });
  }

  /** Deletes a post as a user. */
  unsay(user: string, postId: string): void {
    deletePost(this.world, this.world.post(postId), this.user(user).id);
  }

  fail(fault: Fault): FaultHandle {
    return this.#core.faults.add(fault);
  }

  /** Invalidates a token and, by default, closes the sockets of its user. */
  revoke(token: string, { sockets = true }: { sockets?: boolean } = {}): void {
    const userId = this.world.tokens.get(token);
    this.world.tokens.delete(token);
    if (userId && sockets) this.#sockets.logOut(userId);
  }

  /** Without a code the connections break. */
  disconnectSockets(code?: number): void {
    this.#sockets.disconnect(code);
  }

  /** Keeps sockets open but dead, until called with false. */
  freezeSockets(frozen = true): void {
    this.#sockets.freeze(frozen);
  }

  close(): Promise<void> {
    return this.#stop();
  }
}

export async function startFakeMattermost(options: FakeOptions = {}): Promise<FakeMattermost> {
  const world = new World({
    version: options.version ?? '10.11',
    publicLinks: options.publicLinks ?? false,
    licensed: options.licensed ?? true,
    collapsedThreads: options.collapsedThreads ?? true,
    searchEngine: options.searchEngine ?? 'elasticsearch',
    maxFileSize: options.maxFileSize ?? 104_857_600,
    disabled: options.disabled ?? [],
  });
  const names = plantPast(world, options);
  const oauthApp: OAuthApp = {
    clientId: world.newId(),
    clientSecret: world.newId(),
    redirectUris: [],
    expiresIn: 2_592_000,
    user: options.seed?.users?.[0]?.username ?? 'alice',
    ...options.oauthApp,
  };
  const routes = new RouteTable();
  const groups = [userRoutes, teamRoutes, channelRoutes, channelMemberRoutes, postRoutes, postListRoutes];
  const more = [fileRoutes, reactionRoutes, searchRoutes, threadRoutes, preferenceRoutes];
  for (const group of [...groups, ...more]) routes.add('/api/v4', group);
  if (world.atLeast(9, 5)) routes.add('/api/v4', bookmarkRoutes);
  addFeatures(routes, world);
  routes.add('/api/v4', openSystemRoutes, { open: true });
  routes.add('', oauthRoutes(oauthApp), { open: true });
  const core = new HttpCore(world, routes, options.rateLimit && new RateLimit(options.rateLimit));
  const sockets = new Sockets(world, (authorization) => core.userOf(authorization));
  const server = options.tls ? createSecureServer(options.tls, core.listener) : createServer(core.listener);
  server.keepAliveTimeout = 65_000; // a request on its way fails if the server ends its idle connection
  server.on('upgrade', sockets.upgrade);
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('The fake Mattermost has no port.');
  const stop = async () => {
    core.close();
    sockets.close();
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  const url = `${options.tls ? 'https' : 'http'}://127.0.0.1:${address.port}`;
  return new FakeMattermost({ world, url, oauthApp, core, sockets, names, stop });
}

function plantPast(world: World, options: FakeOptions): Names {
  const seed = { ...defaultSeed, ...options.seed };
  const count = options.postCount ?? 0;
  if (count > 0) {
    const team = seed.teams[0]?.name ?? '';
    const posts = Array.from({ length: count }, (_, index) => ({
      channel: 'big',
      user: index % 2 === 0 ? 'alice' : 'bob',
      message: `Message ${index + 1}`,
    }));
    seed.channels = [...seed.channels, { name: 'big', team, displayName: 'Big', members: ['alice', 'bob'] }];
    seed.posts = [...seed.posts, ...posts];
  }
  return world.inThePast(3_600_000 + count * 4, () => plant(world, seed));
}
