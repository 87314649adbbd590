// The bot: connects its parts, starts them, and closes them without losing answers.
import { makeFetch } from '@pocket-agent/http/fetch';
import { errorText, settlesWithin } from '@pocket-agent/kit';
import type { Client } from 'discord.js';
import type { Logger } from 'pocket-agent';
import { Approvals } from './access/approvals.ts';
import { QuestionQueue } from './answers/question-queue.ts';
import { DiscordBotError } from './base/errors.ts';
import { jsonLogger } from './base/logger.ts';
import { Models } from './config/models.ts';
import { checkOptions } from './config/option-checks.ts';
import type { BotOptions } from './config/options.ts';
import { LiveRuns } from './conversation/live-runs.ts';
import type { BotParts } from './conversation/parts.ts';
import { QueueNotices } from './conversation/queue-notices.ts';
import { deleteLeftGuilds, removeLeftSchedules } from './events/left-guilds.ts';
import { type CatchUpOptions, Listeners } from './events/listeners.ts';
import { registerCommands } from './events/register.ts';
import { Connection } from './gateway/connection.ts';
import { receivesMessagesOf } from './gateway/shard-events.ts';
import { type HealthServer, serveHealth } from './health.ts';
import { ScheduledPrompts } from './schedules/scheduled-prompts.ts';
import { Claims } from './store/claims.ts';
import { deleteGuildData } from './store/guild-data.ts';
import { SettingsStore } from './store/guild-settings.ts';
import { History } from './store/history.ts';
import { ConversationOwnership } from './store/ownership.ts';
import { Processes } from './store/processes.ts';
import { type BotDatabase, type BotStore, botConversations, openBotStore } from './store/schema.ts';
import { Spending } from './store/spending.ts';
import { Catalogue } from './toolbox/catalogue.ts';
import { McpServers } from './toolbox/mcp-servers.ts';
import { MemberLogins } from './toolbox/member-logins.ts';

const LEASE_MS = 45_000;
const CATCH_UP_MS = 900_000;
/** Closing must finish within the ten seconds that supervisors wait. */
const CLOSE_GRACE_MS = 6_000;
/** Time for the last edit of interrupted answers. */
const LAST_EDIT_MS = 1_500;
const MAX_FILE_BYTES = 10_000_000;
const FILE_TIMEOUT_MS = 30_000;
const CLEANUP_MS = 3_600_000;
const EDIT_INTERVAL_MS = 1_000;
/** Users who wait longer than this many edits get a notice. */
const NOTICE_EDITS = 3;

type Tools = Pick<BotParts, 'catalogue' | 'servers' | 'fetch' | 'logins'>;

interface OpenedParts extends Tools, Pick<BotParts, 'client' | 'ownership' | 'claims'> {
  store: BotStore;
}

export class Bot {
  readonly client: Client;
  readonly #options: BotOptions;
  readonly #logger: Logger;
  readonly #agentLogger: Logger;
  readonly #models: Models;
  readonly #connection: Connection;
  readonly #runs = new LiveRuns();
  readonly #closers: (() => unknown)[] = [];
  readonly #closed = Promise.withResolvers<never>();
  /** Aborts running answers when the grace period is over. */
  readonly #closing = new AbortController();
  #starting: Promise<void> | undefined;
  #queue: QuestionQueue | undefined;
  #schedules: ScheduledPrompts | undefined;
  #listeners: Listeners | undefined;
  #health: HealthServer | undefined;

  constructor(options: BotOptions) {
    checkOptions(options);
    this.#options = { ...options };
    this.#logger = options.logger ?? jsonLogger();
    this.#agentLogger = { ...this.#logger, info: this.#logger.debug };
    this.#models = new Models(options.models, options);
    this.#closed.promise.catch(() => {}); // avoids an unhandled rejection
    this.#connection = new Connection(this.#options, this.#logger);
    this.client = this.#connection.client;
  }

  /** Port of the health endpoint. */
  get healthPort(): number | undefined {
    return this.#health?.port;
  }

  /** Resolves with the reason when Discord refuses to reconnect the bot, which then has to be closed. */
  get lost(): Promise<DiscordBotError> {
    return this.#connection.lost;
  }

  /** Resolves when the bot is logged in and listens. */
  async start(): Promise<void> {
    this.#starting ??= this.#start();
    try {
      await this.#starting;
    } catch (error) {
      await this.#closeAll();
      throw error;
    }
  }

  /** Waits for running answers; those that take too long continue after the next start. */
  async close(): Promise<void> {
    if (this.#closers.length > 0) this.#logger.info('Stopping', { running: this.#runs.size });
    this.#closed.reject(new DiscordBotError('GONE', 'The bot is closed. Create a new one with createBot.'));
    await this.#starting?.catch(() => {}); // `start` throws it
    await this.#closeAll();
  }

  async #closeAll(): Promise<void> {
    for (const close of this.#closers.splice(0).reverse()) {
      try {
        await close();
      } catch (error) {
        this.#logger.error('Closing a part of the bot failed', { reason: errorText(error) });
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #start(): Promise<void> {
    const { catchUpMs = CATCH_UP_MS } = this.#options;
    await this.#unlessClosed(this.#models.checkAll(this.#logger));
    const store = await this.#openDatabase();
    const { db } = store;
    const tools = await this.#openTools(db);
    await this.#serveHealth(db);
    this.#closers.push(() => this.#disconnect());
    const { ownership, claims } = await this.#joinProcesses(db);
    // read before new messages arrive, which would hide missed ones
    const checkpoints = await claims.checkpoints({ until: Date.now(), lastMs: catchUpMs });
    const client = await this.#unlessClosed(this.#connection.open());
    // do not await anything before the bot listens: messages that arrive now would be lost
    const parts = this.#assemble({ client, store, ownership, claims, ...tools });
    const listeners = this.#listen(parts, { store, catchUpMs, checkpoints });
    if (client.ws.shards.has(0)) await this.#unlessClosed(registerCommands(client));
    await claims.deleteOld();
    await deleteLeftGuilds(store, client);
    await this.#openSchedules(parts);
    await this.#takeOver(claims);
    await this.#unlessClosed(listeners.caughtUp);
    this.#logger.info('Ready', {
      bot: client.user.id,
      guilds: client.guilds.cache.size,
      shards: [...client.ws.shards.keys()],
      pid: process.pid,
      ...tools.catalogue.report(),
    });
  }

  async #openDatabase(): Promise<BotStore> {
    const opening = openBotStore(this.#options.database);
    this.#closers.push(async () => (await opening.catch(() => undefined))?.close());
    return this.#unlessClosed(opening);
  }

  /** Tool folders, MCP servers, and the fetch for attachments. */
  async #openTools(db: BotDatabase): Promise<Tools> {
    const options = this.#options;
    const catalogue = new Catalogue({
      directories: options.toolDirectories ?? [],
      defaultCapability: options.defaultCapability,
      context: ({ meta }: { meta: Readonly<Record<string, unknown>> }) => this.#runs.contextOf(meta.discord_claim),
      logger: this.#logger,
    });
    this.#closers.push(() => catalogue.close());
    await this.#unlessClosed(catalogue.load());
    const logins = options.loginKey === undefined ? undefined : new MemberLogins(db, options.loginKey);
    const servers = new McpServers({
      logins,
      operatorServers: options.mcpServers ?? {},
      hosts: options.mcpHosts ?? [],
      logger: this.#agentLogger,
    });
    this.#closers.push(() => servers.close());
    const fetch = makeFetch({ allowHosts: fileHosts(options), maxBytes: MAX_FILE_BYTES, timeoutMs: FILE_TIMEOUT_MS });
    this.#closers.push(() => fetch.close());
    return { catalogue, servers, logins, fetch };
  }

  async #serveHealth(db: BotDatabase): Promise<void> {
    const { healthPort } = this.#options;
    if (healthPort === undefined) return;
    const health = await serveHealth(healthPort, { client: this.client, db, runs: this.#runs });
    this.#health = health;
    this.#closers.push(() => health.close());
  }

  /** Starts the heartbeat of this process, which then may own conversations. */
  async #joinProcesses(db: BotDatabase): Promise<Pick<BotParts, 'ownership' | 'claims'>> {
    const processes = new Processes(db, { leaseMs: this.#options.leaseMs ?? LEASE_MS, logger: this.#logger });
    const ownership = new ConversationOwnership(db, processes.id);
    const claims = new Claims(db, ownership);
    this.#closers.push(() => processes.stop());
    await processes.start(() => {
      void this.#logFailure('taking over conversations', this.#takeOver(claims));
      // another process may have added the first schedule
      if (this.#schedules) void this.#logFailure('opening schedules', this.#schedules.openIfUsed());
    });
    return { ownership, claims };
  }

  #assemble({ store, ...opened }: OpenedParts): BotParts {
    const options = this.#options;
    const logger = this.#logger;
    const { db } = store;
    const { client, claims, ownership } = opened;
    const afterMs = NOTICE_EDITS * (options.reply?.editIntervalMs ?? EDIT_INTERVAL_MS);
    const settings = new SettingsStore(db);
    const schedules = new ScheduledPrompts({
      botId: client.user.id,
      location: options.database,
      db,
      claims,
      settings,
      logger,
      onAsked: ({ conversation, guildId }) => {
        // the process with the shard of another guild finds the question at its next heartbeat
        if (receivesMessagesOf(client, guildId)) this.#queue?.process(conversation);
      },
    });
    return {
      ...opened,
      options,
      logger,
      agentLogger: this.#agentLogger,
      runs: this.#runs,
      models: this.#models,
      closing: this.#closing.signal,
      notices: new QueueNotices({ client, claims, logger, afterMs }),
      chats: botConversations(store),
      history: new History(store, ownership),
      spending: new Spending(db),
      settings,
      schedules,
      approvals: new Approvals(logger),
    };
  }

  #listen(parts: BotParts, { store, ...catchUp }: CatchUpOptions & { store: BotStore }): Listeners {
    const { claims, notices, schedules } = parts;
    const { closeGraceMs = CLOSE_GRACE_MS } = this.#options;
    const queue = new QuestionQueue(parts);
    this.#queue = queue;
    const deleteOld = () => Promise.all([claims.deleteOld(), schedules.deleteOld()]);
    const cleanup = setInterval(() => void this.#logFailure('cleanup', deleteOld()), CLEANUP_MS).unref();
    this.#closers.push(() => clearInterval(cleanup));
    this.#closers.push(() => this.#drain(closeGraceMs));
    this.#closers.push(() => settlesWithin(LAST_EDIT_MS, notices.close()));
    const onGuildLeft = async (guildId: string) => {
      await queue.stopGuild(guildId);
      await schedules.removeIn({ guildId });
      await parts.logins?.forget({ guildId });
      await deleteGuildData(store, guildId);
    };
    const listeners = new Listeners(parts, { ...catchUp, queue, onGuildLeft });
    this.#listeners = listeners;
    this.#closers.push(() => listeners.stopMessages());
    return listeners;
  }

  /** Asks what was due while no process ran. */
  async #openSchedules({ schedules, client }: BotParts): Promise<void> {
    this.#schedules = schedules;
    this.#closers.push(() => schedules.close());
    await this.#unlessClosed(schedules.openIfUsed());
    await removeLeftSchedules(schedules, client);
  }

  async #unlessClosed<Result>(work: Promise<Result>): Promise<Result> {
    return Promise.race([this.#closed.promise, work]);
  }

  /** Waits for running answers, then aborts them. Buttons work until the end. */
  async #drain(graceMs: number): Promise<void> {
    this.#queue?.close();
    if (await settlesWithin(graceMs, this.#idle())) return;
    this.#closing.abort();
    await settlesWithin(LAST_EDIT_MS, this.#idle());
  }

  async #disconnect(): Promise<void> {
    this.#listeners?.stopInteractions();
    await this.#connection.close(this.#idle());
  }

  async #idle(): Promise<void> {
    await Promise.all([this.#queue?.idle(), this.#listeners?.idle()]);
  }

  async #takeOver(claims: Claims): Promise<void> {
    await claims.enqueueOrphaned();
    await this.#queue?.takeOver();
  }

  async #logFailure(what: string, work: Promise<unknown>): Promise<void> {
    await work.catch((error) => this.#logger.error(`Failed: ${what}`, { reason: errorText(error) }));
  }
}

/** The bot, not yet connected. */
export function createBot(options: BotOptions): Bot {
  return new Bot(options);
}

/** Internal hosts that files may be read from: the host of `apiUrl`, and configured ones such as its CDN. */
function fileHosts({ apiUrl, fileHosts: configured = [] }: BotOptions): string[] {
  return apiUrl === undefined ? [...configured] : [new URL(apiUrl).host, ...configured];
}
