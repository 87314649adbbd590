// A local Discord for an unmodified discord.js client; README.md describes its API.
import { createServer, type Server } from 'node:http';
import { GatewayIntentBits } from 'discord-api-types/v10';
import { reactionRoutes } from './activity/reactions.ts';
import { threadRoutes } from './activity/threads.ts';
import { type DropOptions, Gateway } from './gateway/gateway.ts';
import { PRIVILEGED } from './gateway/intents.ts';
import { RateLimiter, type RateLimits, USUAL_RATE_LIMITS, type Violation } from './http/rate-limits.ts';
import { type PlayedFailure, Rest, type SeenRequest } from './http/rest.ts';
import { type ChannelRef, Person } from './people/person.ts';
import { transcript } from './people/transcript.ts';
import { type WaitOptions, waitFor } from './people/wait-for.ts';
import { commandRoutes } from './routes/commands.ts';
import { guildRoutes } from './routes/guilds.ts';
import { interactionRoutes } from './routes/interactions.ts';
import { messageRoutes } from './routes/messages.ts';
import { userRoutes } from './routes/users.ts';
import { Stage } from './stage.ts';
import type { Channel, Guild, StoredMessage, TypingRecord } from './state/records.ts';
import { addGuild, type GuildSeed, USUAL_USERS, type UserSeed } from './state/seed.ts';
import { type Sight, World } from './state/world.ts';

export interface DiscordOptions {
  token?: string;
  botName?: string;
  users?: UserSeed[];
  guilds?: GuildSeed[];
  /** Overrides the default limits; `'none'` for load tests. */
  rateLimits?: RateLimits | 'none';
  interactionTimeoutMs?: number;
  interactionTokenMs?: number;
  heartbeatIntervalMs?: number;
  maxFileBytes?: number;
  /** Whether people can install the app for themselves. Default true. */
  hasUserInstall?: boolean;
  /** What `/gateway/bot` recommends. */
  shards?: number;
  maxConcurrency?: number;
  /** Default: all three. */
  privilegedIntents?: (keyof typeof GatewayIntentBits)[];
  port?: number;
  /** Another host name of this machine, to serve files from another host than the API. */
  cdnHost?: string;
}

export class LocalDiscord {
  readonly token: string;
  readonly gateway: Gateway;
  /** Changes people, guilds and channels. */
  readonly stage: Stage;
  readonly #world: World;
  readonly #rest: Rest;
  readonly #limiter: RateLimiter;
  readonly #server: Server;
  readonly #people = new Map<string, Person>();
  #url = '';

  constructor(options: DiscordOptions = {}) {
    const { interactionTimeoutMs = 3000, interactionTokenMs = 900_000, maxFileBytes = 10 * 1024 * 1024 } = options;
    this.token = options.token ?? 'bG9jYWw.local.discord-counterpart';
    this.#world = new World({
      botName: options.botName ?? 'pocket',
      limits: {
        interactionTimeoutMs,
        interactionTokenMs,
        maxFileBytes,
        hasUserInstall: options.hasUserInstall ?? true,
      },
    });
    for (const user of options.users ?? USUAL_USERS) this.#world.addUser(user);
    for (const guild of options.guilds ?? [{}]) addGuild(this.#world, guild);
    this.stage = new Stage(this.#world);
    const { rateLimits = {} } = options;
    this.#limiter = new RateLimiter(rateLimits === 'none' ? {} : { ...USUAL_RATE_LIMITS, ...rateLimits });
    this.gateway = new Gateway(this.#world, {
      token: this.token,
      heartbeatIntervalMs: options.heartbeatIntervalMs ?? 41_250,
      privilegedIntents:
        options.privilegedIntents?.reduce((sum, name) => sum | GatewayIntentBits[name], 0) ?? PRIVILEGED,
    });
    this.#rest = new Rest({
      world: this.#world,
      token: this.token,
      limiter: this.#limiter,
      routes: {
        ...userRoutes(this.#world),
        ...guildRoutes(this.#world),
        ...messageRoutes(this.#world),
        ...reactionRoutes(this.#world),
        ...threadRoutes(this.#world),
        ...commandRoutes(this.#world),
        ...interactionRoutes(this.#world),
        'GET /gateway': () => ({ url: this.gateway.url }),
        'GET /gateway/bot': () => ({
          url: this.gateway.url,
          shards: options.shards ?? 1,
          session_start_limit: {
            total: 1000,
            remaining: 1000,
            reset_after: 0,
            max_concurrency: options.maxConcurrency ?? 16,
          },
        }),
      },
    });
    this.#server = createServer((request, response) => void this.#rest.handle(request, response));
    this.#server.keepAliveTimeout = 65_000; // a request on its way fails if the server ends its idle connection
    this.#server.on('upgrade', (request, socket, head) => this.gateway.upgrade(request, socket, head));
  }

  async listen(port = 0, cdnHost?: string): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject).listen(port, '127.0.0.1', resolve);
    });
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('The server has no port.');
    this.#url = `http://127.0.0.1:${address.port}`;
    this.#world.cdnUrl = cdnHost === undefined ? this.#url : `http://${cdnHost}:${address.port}`;
    this.gateway.url = `ws://127.0.0.1:${address.port}/gateway`;
  }

  /** For the option `rest.api` of a discord.js client, and for `DISCORD_API_URL`. */
  get apiUrl(): string {
    return `${this.#url}/api`;
  }

  /** The id and the mention of the bot. */
  get bot(): { id: string; mention: string; name: string } {
    const { id, username } = this.#world.bot;
    return { id, mention: `<@${id}>`, name: username };
  }

  get guilds(): Guild[] {
    return [...this.#world.guilds.values()];
  }

  /** By name; the first guild by default. */
  guild(name?: string): Guild {
    const guild = this.guilds.find(
      (candidate) => name === undefined || candidate.name === name || candidate.id === name,
    );
    if (!guild) throw new Error(`Unknown guild "${name}".`);
    return guild;
  }

  user(name: string): Person {
    const known = this.#people.get(name);
    if (known) return known;
    const user = [...this.#world.users.values()].find(({ username, id }) => username === name || id === name);
    if (!user) throw new Error(`Unknown user "${name}"; add it to the option users, or call stage.addUser.`);
    const person = new Person(this.#world, user, (ref) => this.channel(ref));
    this.#people.set(name, person);
    return person;
  }

  channel(ref: ChannelRef): Channel {
    if (typeof ref === 'object') return ref;
    const byId = this.#world.channels.get(ref);
    if (byId) return byId;
    const slash = ref.lastIndexOf('/');
    const guildId = slash < 0 ? undefined : this.guild(ref.slice(0, slash)).id;
    for (const channel of this.#world.channels.values()) {
      const here = guildId === undefined || channel.guildId === guildId;
      if (here && channel.name === ref.slice(slash + 1)) return channel;
    }
    throw new Error(`Unknown channel "${ref}".`);
  }

  /** All messages of a channel, oldest first, including ephemeral and deleted ones. */
  messages(ref: ChannelRef): StoredMessage[] {
    return [...this.channel(ref).messages.values()];
  }

  /** Messages of the bot in a channel that are neither deleted nor ephemeral. */
  botMessages(ref: ChannelRef): StoredMessage[] {
    return this.messages(ref).filter(
      ({ author, deletedAt, onlyFor }) => author.id === this.bot.id && deletedAt === undefined && !onlyFor,
    );
  }

  threads(ref: ChannelRef): Channel[] {
    const { id } = this.channel(ref);
    return [...this.#world.channels.values()].filter(({ thread, parentId }) => thread && parentId === id);
  }

  get typing(): readonly TypingRecord[] {
    return this.#world.typing;
  }

  get requests(): readonly SeenRequest[] {
    return this.#rest.requests;
  }

  /** URLs that were fetched for previews. */
  get previews(): readonly string[] {
    return this.#world.previews;
  }

  /** Requests without a matching route. */
  get unknownRequests(): SeenRequest[] {
    return this.#rest.requests.filter(({ route, status }) => route === undefined && status === 404);
  }

  /** Requests that exceeded a rate limit. */
  get violations(): readonly Violation[] {
    return this.#limiter.violations;
  }

  /** Names of the registered commands, of all guilds or of one. */
  commands(guild?: Guild): string[] {
    return [...this.#world.commands.values()].flatMap(({ guildId, json }) => (guildId === guild?.id ? json.name : []));
  }

  waitFor<Found>(look: () => Found | undefined | null | false, options: WaitOptions = {}): Promise<Found> {
    return waitFor(this.#world, look, { seen: () => this.transcript(), ...options });
  }

  /** A message of the bot in a channel that matches, existing or new. */
  waitForBotMessage(
    ref: ChannelRef,
    fits: (message: StoredMessage) => boolean = () => true,
    options: WaitOptions = {},
  ): Promise<StoredMessage> {
    const { name } = this.channel(ref);
    const what = `a message of the bot in ${name}`;
    return this.waitFor(() => this.botMessages(ref).find(fits), { what, ...options });
  }

  /** All messages as text. */
  transcript(ref?: ChannelRef): string {
    if (ref !== undefined) return transcript(this.channel(ref));
    const used = [...this.#world.channels.values()].filter(({ messages }) => messages.size > 0);
    return used.map(transcript).join('\n\n');
  }

  /** Calls back for every visible change; returns a function that ends it. */
  watch(listener: (sight: Sight) => void): () => void {
    return this.#world.onSight(listener);
  }

  dropGateway(options?: DropOptions): void {
    this.gateway.drop(options);
  }

  failNext(failure: PlayedFailure): void {
    this.#rest.fail(failure);
  }

  async close(): Promise<void> {
    for (const { timer } of this.#world.interactions.values()) clearTimeout(timer);
    this.gateway.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export async function startDiscord(options: DiscordOptions = {}): Promise<LocalDiscord> {
  const discord = new LocalDiscord(options);
  await discord.listen(options.port, options.cdnHost);
  return discord;
}
