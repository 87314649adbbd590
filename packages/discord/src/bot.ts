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
import { loginRefused } from './discord-error.ts';
import { messageOf } from './errors.ts';
import { catchUp } from './events/catch-up.ts';
import { InOrder } from './events/in-order.ts';
import { onInteraction } from './events/on-interaction.ts';
import { onMessage } from './events/on-message.ts';
import { type Health, type HealthServer, serveHealth } from './health.ts';
import { jsonLogger } from './log.ts';
import { Models } from './models.ts';
import type { BotOptions } from './options.ts';
import type { BotParts } from './parts.ts';
import { Settings } from './settings/settings.ts';
import { forgetGuild } from './store/forget-guild.ts';
import { Processes } from './store/processes.ts';
import { type BotStore, openBotStore } from './store/schema.ts';
import { Catalogue } from './toolbox/catalogue.ts';
import { Servers } from './toolbox/servers.ts';

const LEASE_MS = 45_000;
const CATCH_UP_MS = 900_000;
const CLOSE_GRACE_MS = 10_000;
const FILE_BYTES = 10_000_000;
const FILE_MS = 30_000;
const CLEANING_MS = 3_600_000;

export class Bot {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #closers: (() => unknown)[] = [];
  #store: BotStore | undefined;
  #runs: LiveRuns | undefined;
  #health: HealthServer | undefined;

  constructor(options: BotOptions) {
    this.#options = { ...options };
    this.#logger = options.logger ?? jsonLogger();
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
      rest: { ...(options.apiUrl ? { api: options.apiUrl } : {}), ...options.client?.rest },
    });
  }

  /** Where the health endpoint listens. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  /** Resolves when the bot is logged in and hears what is said. */
  async start(): Promise<void> {
    try {
      await this.#start();
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Waits for answers that are being written; those that take too long go on after the next start. */
  async close(): Promise<void> {
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
    const models = new Models(options.models);
    const store = await openBotStore(options.database);
    this.#store = store;
    this.#closers.push(() => store.close());
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
    await catalogue.load();
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
    client.on(Events.Error, (error) => logger.error('The connection to Discord failed', { reason: error.message }));
    this.#closers.push(() => client.destroy());
    const ready = await this.#login();
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
    this.#closers.push(() => processes.stop());
    await processes.start(() => void this.#watched('taking over', queue.takeOver()));
    const cleaning = setInterval(
      () => void this.#watched('cleaning up', parts.claims.forgetOld()),
      CLEANING_MS,
    ).unref();
    this.#closers.push(() => clearInterval(cleaning));
    this.#closers.push(() => queue.close(closeGraceMs));
    this.#listen(parts, queue);
    if (client.ws.shards.has(0)) await ready.application.commands.set(definitions);
    await parts.claims.forgetOld();
    await queue.takeOver();
    await catchUp(parts, queue, catchUpMs);
    logger.info('Ready', { bot: ready.user.id, guilds: ready.guilds.cache.size });
  }

  #listen(parts: BotParts, queue: Queue): void {
    const { client } = this;
    const { catchUpMs = CATCH_UP_MS } = this.#options;
    const inOrder = new InOrder();
    client.on(Events.MessageCreate, (message) => {
      const work = inOrder.run(message.channelId, () => onMessage(parts, queue, message));
      void this.#watched('a message', work);
    });
    client.on(Events.InteractionCreate, (interaction) => void onInteraction(parts, queue, interaction));
    // a session that could not be resumed has missed something
    client.on(Events.ShardReady, () => void this.#watched('catching up', catchUp(parts, queue, catchUpMs)));
    // what was heard is written down before the database closes
    this.#closers.push(() => inOrder.idle());
    client.on(Events.GuildDelete, ({ id }) => void this.#watched('forgetting a guild', this.#forget(id, queue)));
    this.#closers.push(() => client.removeAllListeners(Events.GuildDelete));
    this.#closers.push(() => client.removeAllListeners(Events.MessageCreate));
    this.#closers.push(() => client.removeAllListeners(Events.ShardReady));
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
      throw loginRefused(cause);
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
