// The bot: logs in, listens, and closes without losing anything.
import { makeFetch } from '@pocket-agent/http/fetch';
import { Client, Events, GatewayIntentBits, Partials } from 'discord.js';
import { sql } from 'kysely';
import type { Logger } from 'pocket-agent';
import { Approvals } from './access/approvals.ts';
import { definitions } from './commands/all.ts';
import { Claims } from './conversation/claims.ts';
import { History } from './conversation/history.ts';
import { LiveRuns } from './conversation/live-runs.ts';
import { Queue } from './conversation/queue.ts';
import { Spending } from './conversation/spending.ts';
import { loginFailed } from './discord-error.ts';
import { endingWith } from './ending.ts';
import { DiscordBotError, messageOf } from './errors.ts';
import { catchUp } from './events/catch-up.ts';
import { InOrder } from './events/in-order.ts';
import { onInteraction } from './events/on-interaction.ts';
import { onMessage } from './events/on-message.ts';
import { type Health, type HealthServer, serveHealth } from './health.ts';
import { jsonLogger } from './log.ts';
import { Models } from './models.ts';
import { checkOptions } from './option-keys.ts';
import type { BotOptions } from './options.ts';
import type { BotParts } from './parts.ts';
import { Settings } from './settings/settings.ts';
import { forgetGuild } from './store/forget-guild.ts';
import { Processes } from './store/processes.ts';
import { type BotStore, openBotStore } from './store/schema.ts';
import { Catalogue } from './toolbox/catalogue.ts';
import { Servers } from './toolbox/servers.ts';
import { within } from './within.ts';

const LEASE_MS = 45_000;
const CATCH_UP_MS = 900_000;
const CLOSE_GRACE_MS = 10_000;
const DISCONNECT_MS = 2_000;
const FILE_BYTES = 10_000_000;
const FILE_MS = 30_000;
const CLEANING_MS = 3_600_000;

export class Bot {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #models: Models;
  readonly #closers: (() => unknown)[] = [];
  /** Discord is not spoken to any more. */
  readonly #ended = new AbortController();
  readonly #closed = Promise.withResolvers<never>();
  /** Commands and buttons that are being answered. */
  readonly #used = new InOrder();
  #starting: Promise<void> | undefined;
  #store: BotStore | undefined;
  #queue: Queue | undefined;
  #runs: LiveRuns | undefined;
  #health: HealthServer | undefined;

  constructor(options: BotOptions) {
    checkOptions(options);
    this.#options = { ...options };
    this.#logger = options.logger ?? jsonLogger();
    this.#models = new Models(options.models);
    this.#closed.promise.catch(() => {}); // for those who wait for something else beside it
    const { ws, rest } = endingWith(this.#ended.signal, options.client);
    this.client = new Client({
      intents: [
        GatewayIntentBits.Guilds,
        GatewayIntentBits.GuildMessages,
        GatewayIntentBits.DirectMessages,
        GatewayIntentBits.MessageContent,
      ],
      partials: [Partials.Channel],
      // whatever a model writes, nobody is pinged by it
      allowedMentions: { parse: [], repliedUser: false },
      ...options.client,
      ws,
      rest: { ...(options.apiUrl ? { api: options.apiUrl } : {}), ...rest },
    });
  }

  /** Where the health endpoint listens. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  /** Resolves when the bot is logged in and hears what is said. */
  async start(): Promise<void> {
    this.#starting ??= this.#start();
    try {
      await this.#starting;
    } catch (error) {
      await this.#closeAll();
      throw error;
    }
  }

  /** Waits for answers that are being written; those that take too long go on after the next start. */
  async close(): Promise<void> {
    this.#closed.reject(new DiscordBotError('GONE', 'The bot was closed. Make another one with createBot.'));
    await this.#starting?.catch(() => {}); // told by `start`
    await this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        this.#logger.error('A part of the bot did not close', { reason: messageOf(error) });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<void> {
    const { client } = this;
    const options = this.#options;
    const logger = this.#logger;
    const { leaseMs = LEASE_MS, catchUpMs = CATCH_UP_MS, closeGraceMs = CLOSE_GRACE_MS } = options;
    const agentLogger: Logger = { ...logger, info: logger.debug };
    const models = this.#models;
    await this.#unlessClosed(models.checkAll());
    const opening = openBotStore(options.database);
    this.#closers.push(() => opening.then((store) => store.close()));
    const store = await this.#unlessClosed(opening);
    this.#store = store;
    const { db } = store;
    const processes = new Processes(db, { leaseMs, logger });
    const runs = new LiveRuns();
    this.#runs = runs;
    const catalogue = new Catalogue({
      directories: options.toolDirectories ?? [],
      context: ({ meta }: { meta: Readonly<Record<string, unknown>> }) => runs.contextOf(meta.discord_claim),
      logger,
    });
    this.#closers.push(() => catalogue.close());
    await this.#unlessClosed(catalogue.load());
    const servers = new Servers({
      own: options.mcpServers ?? {},
      hosts: options.mcpHosts ?? [],
      logger: agentLogger,
    });
    this.#closers.push(() => servers.close());
    const fetch = makeFetch({ ...ownHost(options.apiUrl), maxBytes: FILE_BYTES, timeoutMs: FILE_MS });
    this.#closers.push(() => fetch.close());
    if (options.healthPort !== undefined) {
      const health = await serveHealth(options.healthPort, () => this.#look());
      this.#health = health;
      this.#closers.push(() => health.close());
    }
    this.#tellConnection();
    this.#closers.push(() => this.#disconnect());
    const ready = await this.#unlessClosed(this.#login());
    const parts: BotParts = {
      client: ready,
      options,
      logger,
      agentLogger,
      runs,
      models,
      catalogue,
      servers,
      fetch,
      claims: new Claims(db, processes.id),
      history: new History(db),
      spending: new Spending(db),
      settings: new Settings(db),
      approvals: new Approvals(logger),
    };
    const queue = new Queue(parts);
    this.#queue = queue;
    this.#closers.push(() => processes.stop());
    await processes.start(() => void this.#watched('taking over', queue.takeOver()));
    const cleaning = setInterval(
      () => void this.#watched('cleaning up', parts.claims.forgetOld()),
      CLEANING_MS,
    ).unref();
    this.#closers.push(() => clearInterval(cleaning));
    this.#closers.push(() => queue.close(closeGraceMs));
    this.#listen(parts, queue);
    if (client.ws.shards.has(0)) await this.#unlessClosed(ready.application.commands.set(definitions));
    await parts.claims.forgetOld();
    await queue.takeOver();
    await this.#unlessClosed(catchUp(parts, queue, catchUpMs));
    logger.info('Ready', {
      bot: ready.user.id,
      guilds: ready.guilds.cache.size,
      shards: [...client.ws.shards.keys()],
      pid: process.pid,
      ...catalogue.report(),
    });
  }

  async #unlessClosed<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([this.#closed.promise, work]);
  }

  #tellConnection(): void {
    const { client } = this;
    const logger = this.#logger;
    const away = new Set<number>();
    client.on(Events.Error, (error) => logger.error('The connection to Discord failed', { reason: error.message }));
    client.on(Events.ShardError, (error, shard) =>
      logger.error('The connection to Discord failed', { shard, reason: error.message }),
    );
    client.on(Events.ShardReconnecting, (shard) => {
      // it tries twice a second
      const isKnown = away.has(shard) || this.#ended.signal.aborted;
      if (!isKnown) logger.warn('The connection to Discord is gone; trying to get it back', { shard });
      away.add(shard);
    });
    const isBack = (shard: number) => {
      if (away.delete(shard)) logger.info('The connection to Discord is back', { shard });
    };
    client.on(Events.ShardReady, isBack);
    client.on(Events.ShardResume, isBack);
  }

  /** A Discord that does not answer keeps nobody. */
  async #disconnect(): Promise<void> {
    await within(DISCONNECT_MS, this.#used.idle());
    this.#ended.abort();
    await within(DISCONNECT_MS, Promise.all([this.client.destroy(), this.#queue?.idle()]));
  }

  #listen(parts: BotParts, queue: Queue): void {
    const { client } = this;
    const { catchUpMs = CATCH_UP_MS } = this.#options;
    const inOrder = new InOrder();
    client.on(Events.MessageCreate, (message) => {
      const work = inOrder.run(message.channelId, () => onMessage(parts, queue, message));
      void this.#watched('a message', work);
    });
    client.on(Events.InteractionCreate, (interaction) => {
      void this.#used.run(interaction.id, () => onInteraction(parts, queue, interaction));
    });
    // a session that could not be resumed has missed something
    const onShardReady = () => void this.#watched('catching up', catchUp(parts, queue, catchUpMs));
    client.on(Events.ShardReady, onShardReady);
    // what was heard is written down before the database closes
    this.#closers.push(() => inOrder.idle());
    client.on(Events.GuildDelete, ({ id }) => void this.#watched('forgetting a guild', this.#forget(id, queue)));
    this.#closers.push(() => client.removeAllListeners(Events.GuildDelete));
    this.#closers.push(() => client.removeAllListeners(Events.MessageCreate));
    this.#closers.push(() => client.off(Events.ShardReady, onShardReady));
  }

  /** Whoever throws the bot out takes everything along. */
  async #forget(guildId: string, queue: Queue): Promise<void> {
    await queue.leave(guildId);
    if (this.#store) await forgetGuild(this.#store.db, guildId);
  }

  async #login(): Promise<Client<true>> {
    const { client } = this;
    const ready = new Promise<Client<true>>((resolve) => client.once(Events.ClientReady, resolve));
    try {
      await client.login(this.#options.token);
    } catch (cause) {
      throw loginFailed(cause, this.#options.apiUrl);
    }
    return ready;
  }

  async #look(): Promise<Health> {
    const { client } = this;
    const db = this.#store?.db;
    const answered = db && (await sql`select 1`.execute(db).catch(() => undefined));
    return {
      ready: client.isReady(),
      guilds: client.guilds.cache.size,
      running: this.#runs?.size ?? 0,
      ping: client.ws.ping < 0 ? null : client.ws.ping,
      database: answered !== undefined,
    };
  }

  async #watched(what: string, work: Promise<void>): Promise<void> {
    await work.catch((error) => this.#logger.error(`Failed: ${what}`, { reason: messageOf(error) }));
  }
}

export function createBot(options: BotOptions): Bot {
  return new Bot(options);
}

/** A local counterpart serves its files from this machine. */
function ownHost(apiUrl: string | undefined): { allowHosts?: string[] } {
  return apiUrl === undefined ? {} : { allowHosts: [new URL(apiUrl).host] };
}
