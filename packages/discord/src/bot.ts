// The bot: put together, started, and closed without losing anything.
import { makeFetch } from '@pocket-agent/http/fetch';
import type { Client } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { Approvals } from './access/approvals.ts';
import { Queue } from './answers/question-queue.ts';
import { DiscordBotError, messageOf } from './base/errors.ts';
import { jsonLogger } from './base/logger.ts';
import { within } from './base/settles-within.ts';
import { registerCommands } from './commands/register.ts';
import { Models } from './config/models.ts';
import { checkOptions } from './config/option-checks.ts';
import type { BotOptions } from './config/options.ts';
import { LiveRuns } from './conversation/live-runs.ts';
import type { BotParts } from './conversation/parts.ts';
import { Notices } from './conversation/queue-notices.ts';
import { forgetLeftGuilds } from './events/left-guilds.ts';
import { type Ears, listen } from './events/listeners.ts';
import { Connection } from './gateway/connection.ts';
import { type HealthServer, serveHealth } from './health.ts';
import { Claims } from './store/claims.ts';
import { forgetGuild } from './store/guild-data.ts';
import { Settings } from './store/guild-settings.ts';
import { History } from './store/history.ts';
import { Holdings } from './store/ownership.ts';
import { Processes } from './store/processes.ts';
import { openBotStore } from './store/schema.ts';
import { Spending } from './store/spending.ts';
import { Catalogue } from './toolbox/catalogue.ts';
import { Servers } from './toolbox/mcp-servers.ts';

const LEASE_MS = 45_000;
const CATCH_UP_MS = 900_000;
/** With what comes after it, closing takes less than the ten seconds that supervisors wait. */
const CLOSE_GRACE_MS = 6_000;
/** For the last words of answers that are cut off. */
const FAREWELL_MS = 1_500;
const FILE_BYTES = 10_000_000;
const FILE_MS = 30_000;
const CLEANING_MS = 3_600_000;
const EDIT_MS = 1_000;
/** A wait is told when it is longer than some edits. */
const NOTICE_EDITS = 3;

export class Bot {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #models: Models;
  readonly #connection: Connection;
  readonly #runs = new LiveRuns();
  readonly #closers: (() => unknown)[] = [];
  readonly #closed = Promise.withResolvers<never>();
  /** What still runs has had its time. */
  readonly #closing = new AbortController();
  #starting: Promise<void> | undefined;
  #queue: Queue | undefined;
  #ears: Ears | undefined;
  #health: HealthServer | undefined;

  constructor(options: BotOptions) {
    checkOptions(options);
    this.#options = { ...options };
    this.#logger = options.logger ?? jsonLogger();
    this.#models = new Models(options.models, options);
    this.#closed.promise.catch(() => {}); // for those who wait for something else beside it
    this.#connection = new Connection(this.#options, this.#logger);
    this.client = this.#connection.client;
  }

  /** Where the health endpoint listens. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  /** Settles, with the reason, when Discord will not take a bot back that was logged in. Close it then. */
  get lost(): Promise<DiscordBotError> {
    return this.#connection.lost;
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
    if (this.#closers.length > 0) this.#logger.info('Stopping', { running: this.#runs.size });
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
    const [models, runs] = [this.#models, this.#runs];
    await this.#unlessClosed(models.checkAll(logger));
    const opening = openBotStore(options.database);
    this.#closers.push(async () => (await opening.catch(() => undefined))?.close());
    const store = await this.#unlessClosed(opening);
    const { db } = store;
    const processes = new Processes(db, { leaseMs, logger });
    const catalogue = new Catalogue({
      directories: options.toolDirectories ?? [],
      defaultCapability: options.defaultCapability,
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
    const fetch = makeFetch({ allowHosts: fileHosts(options), maxBytes: FILE_BYTES, timeoutMs: FILE_MS });
    this.#closers.push(() => fetch.close());
    if (options.healthPort !== undefined) {
      const health = await serveHealth(options.healthPort, { client, db, runs });
      this.#health = health;
      this.#closers.push(() => health.close());
    }
    this.#closers.push(() => this.#disconnect());
    const holdings = new Holdings(db, processes.id);
    const claims = new Claims(db, holdings);
    this.#closers.push(() => processes.stop());
    await processes.start(() => void this.#watched('taking over', this.#takeOver(claims)));
    // before anything new is heard, which would hide what was missed
    const marks = await claims.marks({ until: Date.now(), lastMs: catchUpMs });
    const ready = await this.#unlessClosed(this.#connection.open());
    // nothing is waited for until the bot listens: what is said now is told to nobody else
    const afterMs = NOTICE_EDITS * (options.reply?.editIntervalMs ?? EDIT_MS);
    const notices = new Notices({ client: ready, claims, logger, afterMs });
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
      closing: this.#closing.signal,
      holdings,
      claims,
      notices,
      history: new History(db, holdings),
      spending: new Spending(db),
      settings: new Settings(db),
      approvals: new Approvals(logger),
    };
    const queue = new Queue(parts);
    this.#queue = queue;
    const cleaning = setInterval(() => void this.#watched('cleaning up', claims.forgetOld()), CLEANING_MS).unref();
    this.#closers.push(() => clearInterval(cleaning));
    this.#closers.push(() => this.#finish(closeGraceMs));
    this.#closers.push(() => within(FAREWELL_MS, notices.close()));
    const onLeft = async (guildId: string) => {
      await queue.leave(guildId);
      await forgetGuild(db, guildId);
    };
    const ears = listen(parts, { queue, catchUpMs, marks, onLeft });
    this.#ears = ears;
    this.#closers.push(() => ears.closeToMessages());
    if (client.ws.shards.has(0)) await this.#unlessClosed(registerCommands(ready));
    await claims.forgetOld();
    await forgetLeftGuilds(db, ready);
    await this.#takeOver(claims);
    await this.#unlessClosed(ears.caughtUp);
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

  /** Lets what runs come to an end for a while, then stops it; buttons work until then. */
  async #finish(graceMs: number): Promise<void> {
    this.#queue?.close();
    if (await within(graceMs, this.#idle())) return;
    this.#closing.abort();
    await within(FAREWELL_MS, this.#idle());
  }

  async #disconnect(): Promise<void> {
    this.#ears?.closeToInteractions();
    await this.#connection.end(this.#idle());
  }

  async #idle(): Promise<void> {
    await Promise.all([this.#queue?.idle(), this.#ears?.idle()]);
  }

  async #takeOver(claims: Claims): Promise<void> {
    await claims.enqueueLeft();
    await this.#queue?.takeOver();
  }

  async #watched(what: string, work: Promise<void>): Promise<void> {
    await work.catch((error) => this.#logger.error(`Failed: ${what}`, { reason: messageOf(error) }));
  }
}

export function createBot(options: BotOptions): Bot {
  return new Bot(options);
}

/** Inner hosts that files may come from: that of another API than Discord's, and its CDN. */
function fileHosts({ apiUrl, fileHosts: named = [] }: BotOptions): string[] {
  return apiUrl === undefined ? [...named] : [new URL(apiUrl).host, ...named];
}
