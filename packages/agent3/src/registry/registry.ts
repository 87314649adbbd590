// The registry of agents: who there is, what they are like, who may call them, and what came of it.
import { openStore, type Store } from '@pocket-agent/store';
import { Agent3Error } from '../base/agent3-error.ts';
import type {
  AgentDetails,
  BudgetLimits,
  Caller,
  CallLog,
  CallLogQuery,
  CallRecord,
  CardJson,
  Credential,
  Directory,
  Feedback,
  FeedbackResult,
  HubHealth,
  Invocation,
  KnownTask,
  ListedAgent,
  RateLimit,
  Registration,
  SearchPage,
  SearchQuery,
  Spending,
  Statistics,
  StatisticsQuery,
} from '../base/types.ts';
import { packageVersion } from '../base/version.ts';
import { CardChecks } from '../cards/card-checks.ts';
import { CardSource } from '../cards/card-source.ts';
import { cleanText } from '../cards/card-text.ts';
import { openVault, type Vault } from '../credentials/vault.ts';
import { CredentialStore } from './agents/credentials.ts';
import { detailsOf, invocationOf } from './agents/details.ts';
import { Freshness } from './agents/freshness.ts';
import { checkHealth, type HealthCheckOptions } from './agents/health-checks.ts';
import { Registrations } from './agents/registrations.ts';
import { readCallLog } from './records/call-log.ts';
import { Receipts, recordCall } from './records/calls.ts';
import { giveFeedback } from './records/feedback.ts';
import { hubHealth } from './records/hub-health.ts';
import { type AgentRow, metricsOf, summaryOf } from './records/listing.ts';
import { migrations } from './records/migrations.ts';
import { type LimitedUse, RateLimits } from './records/rate-limits.ts';
import type { RegistrySchema } from './records/schema.ts';
import { spend } from './records/spending.ts';
import { callStatistics } from './records/statistics.ts';
import { findTask, saveTask } from './records/tasks.ts';
import type { RegistryOptions } from './registry-options.ts';
import { Meaning } from './search/meaning.ts';
import { Search } from './search/search.ts';
import { postgresIndex, sqliteIndex } from './search/text-index.ts';
import { Vocabulary } from './search/words.ts';

const CALLER_RATE: RateLimit = { calls: 600, perSeconds: 60 };
const HEALTH_INTERVAL_MS = 300_000;
const HEALTH_CONCURRENCY = 4;
const DAY_MS = 86_400_000;
const MAX_STALE_MS = DAY_MS;
const CALLS_KEPT_MS = 90 * DAY_MS;
const ROUND_MS = 15_000;
const MAX_WORDS = 200_000;

export type { RegistryOptions } from './registry-options.ts';

export async function openRegistry(options: RegistryOptions): Promise<Registry> {
  const { url, file } = options;
  const store = await openStore<RegistrySchema>({ url, file, name: 'agent3', migrations });
  try {
    const rows = await store.db.selectFrom('agent3_settings').selectAll().execute();
    const setting = (name: string) => rows.find((row) => row.name === name)?.value ?? '';
    const { secretKey, oldSecretKeys } = options;
    const vault = await openVault({ secretKey, oldSecretKeys, salt: setting('vault-salt') });
    return new Registry(options, { store, vault, receipts: new Receipts(setting('receipt-key')) });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface RegistryParts {
  store: Store<RegistrySchema>;
  vault: Vault;
  receipts: Receipts;
}

export class Registry implements Directory {
  readonly #store: Store<RegistrySchema>;
  readonly #credentials: CredentialStore;
  readonly #receipts: Receipts;
  readonly #now: () => number;
  readonly #closing = new AbortController();
  readonly #search: Search;
  readonly #registrations: Registrations;
  readonly #freshness: Freshness;
  readonly #rateLimits: RateLimits;
  readonly #callerRate: RateLimit | undefined;
  readonly #healthOptions: HealthCheckOptions;
  readonly #timer: NodeJS.Timeout | undefined;
  /** Apart, so that agents that are slow to answer do not keep what is past its time. */
  readonly #chores = [new Chore(() => this.checkHealth()), new Chore(() => this.tidy())];
  #searchLatency: number | undefined;

  constructor(options: RegistryOptions, { store, vault, receipts }: RegistryParts) {
    const { fetch, allowHosts = [], trustedKeys = [], callerRateLimit = CALLER_RATE, healthChecks = {} } = options;
    const { now = Date.now, maxStaleMs = MAX_STALE_MS, maxWords = MAX_WORDS, cardTimeoutMs, embedder } = options;
    const { db, kind } = store;
    this.#store = store;
    this.#credentials = new CredentialStore(db, vault);
    this.#receipts = receipts;
    this.#now = now;
    const { signal } = this.#closing;
    const source = new CardSource({ fetch, allowHosts, timeoutMs: cardTimeoutMs, maxStaleMs, signal });
    const index = kind === 'sqlite' ? sqliteIndex : postgresIndex;
    const vocabulary = new Vocabulary(db, maxWords);
    const meaning = embedder && new Meaning(db, embedder);
    this.#search = new Search({ db, index, vocabulary, meaning, now });
    const checks = new CardChecks({ source, trustedKeys });
    const credentials = this.#credentials;
    const registrations = new Registrations({ db, index, vocabulary, meaning, checks, credentials, now });
    this.#registrations = registrations;
    this.#freshness = new Freshness({ db, source, checks, registrations, now, maxStaleMs });
    this.#rateLimits = new RateLimits(db, { kind, now: options.now });
    this.#callerRate = callerRateLimit || undefined;
    const { intervalMs = HEALTH_INTERVAL_MS, concurrency = HEALTH_CONCURRENCY } = healthChecks || {};
    this.#healthOptions = { db, kind, source, freshness: this.#freshness, now, intervalMs, concurrency, signal };
    if (healthChecks) this.#timer = setInterval(() => this.#beginChores(), Math.min(ROUND_MS, intervalMs)).unref();
  }

  async search(query: SearchQuery): Promise<SearchPage> {
    const started = performance.now();
    const { rows, totalFound, nextCursor } = await this.#search.find(query);
    const metrics = await metricsOf(this.#store.db, rows);
    const searchTime = Math.round((performance.now() - started) * 10) / 10;
    this.#searchLatency = this.#searchLatency === undefined ? searchTime : (this.#searchLatency + searchTime) / 2;
    return {
      agents: rows.map((row) => summaryOf(row, metrics.get(row.id))),
      totalFound,
      searchTime,
      ...(nextCursor === undefined ? {} : { nextCursor }),
    };
  }

  async select(agentId: string): Promise<AgentDetails> {
    return detailsOf(this.#store.db, await this.#row(agentId));
  }

  /** The public card and what a call needs; never a secret. */
  async invoke(agentId: string): Promise<Invocation> {
    await this.fresh(agentId);
    return invocationOf(this.#store.db, await this.#row(agentId), await this.credentials(agentId));
  }

  async register(registration: Registration, caller: Caller): Promise<AgentDetails> {
    return this.select(await this.#registrations.register(registration, caller));
  }

  /** Many cards at once, all or none; for filling a registry. */
  importCards(cards: readonly CardJson[], caller: Caller): Promise<void> {
    return this.#registrations.importCards(cards, caller);
  }

  async unregister(agentId: string, caller: Caller): Promise<void> {
    await this.#registrations.unregister(await this.#row(agentId), caller);
  }

  feedback(feedback: Feedback, caller: Caller): Promise<FeedbackResult> {
    return giveFeedback(this.#store.db, feedback, { caller, receipts: this.#receipts, now: this.#now() });
  }

  find(agentId: string): Promise<ListedAgent | undefined> {
    return this.#freshness.find(agentId);
  }

  fresh(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined> {
    return this.#freshness.fresh(agentId, signal);
  }

  renewed(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined> {
    return this.#freshness.renewed(agentId, signal);
  }

  credentials(agentId: string): Promise<readonly Credential[]> {
    return this.#credentials.find(agentId);
  }

  admit(agent: ListedAgent, caller: string): Promise<number | undefined> {
    const uses: LimitedUse[] = [];
    if (agent.rateLimit) uses.push({ key: `agent ${agent.agentId}`, ...agent.rateLimit });
    if (this.#callerRate) uses.push({ key: `caller ${caller}`, ...this.#callerRate });
    return this.#rateLimits.use(uses);
  }

  spend(spending: Spending): Promise<keyof BudgetLimits | undefined> {
    return spend(this.#store.db, spending);
  }

  async record(call: CallRecord): Promise<string> {
    await recordCall(this.#store.db, call, this.#now());
    return this.#receipts.write(call);
  }

  saveTask(task: KnownTask): Promise<void> {
    return saveTask(this.#store.db, task);
  }

  task(taskHandle: string): Promise<KnownTask | undefined> {
    return findTask(this.#store.db, taskHandle, this.#now());
  }

  calls(query: CallLogQuery, reader: Caller): Promise<CallLog> {
    return readCallLog(this.#store.db, query, reader);
  }

  statistics(query: StatisticsQuery): Promise<Statistics> {
    return callStatistics(this.#store.db, query);
  }

  /** Checks the agents that are due, and tells how many that were. Happens by itself unless it is switched off. */
  checkHealth(): Promise<number> {
    return checkHealth(this.#healthOptions);
  }

  /** Forgets what is past its time. Happens by itself with the health checks. */
  async tidy(): Promise<void> {
    const { db } = this.#store;
    const now = this.#now();
    await db.deleteFrom('agent3_tasks').where('expires_at', '<', now).execute();
    await db.deleteFrom('agent3_rate_windows').where('expires_at', '<', now).where('expires_at', '>', 0).execute();
    const yesterday = new Date(now - DAY_MS).toISOString().slice(0, 10);
    await db.deleteFrom('agent3_spending').where('day', '<', yesterday).execute();
    await db
      .deleteFrom('agent3_calls')
      .where('started_at', '<', now - CALLS_KEPT_MS)
      .execute();
  }

  health(): Promise<HubHealth> {
    return hubHealth(this.#store, { now: this.#now(), searchLatency: this.#searchLatency, version: packageVersion() });
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort(new Agent3Error('CARD_UNAVAILABLE', 'The registry was closed'));
    for (const chore of this.#chores) await chore.end();
    await this.#store.close();
  }

  #beginChores(): void {
    for (const chore of this.#chores) chore.begin();
  }

  async #row(agentId: string): Promise<AgentRow & { card: string }> {
    const row = await this.#freshness.row(agentId);
    if (!row) throw unknownAgent(agentId);
    return row;
  }
}

/** Work that is done again and again, one time after the other. */
class Chore {
  readonly #work: () => Promise<unknown>;
  #underWay: Promise<void> | undefined;

  constructor(work: () => Promise<unknown>) {
    this.#work = work;
  }

  /** Nothing happens while it is still at it. */
  begin(): void {
    this.#underWay ??= this.#once().finally(() => {
      this.#underWay = undefined;
    });
  }

  async end(): Promise<void> {
    await this.#underWay;
  }

  async #once(): Promise<void> {
    try {
      await this.#work();
    } catch {
      // a database that is away shows in health(), and may be back the next time
    }
  }
}

function unknownAgent(agentId: string): Agent3Error {
  return new Agent3Error('AGENT_UNKNOWN', `There is no agent "${cleanText(agentId, 100)}"; search for one`);
}
