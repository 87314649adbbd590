// The registry: registered agents with their credentials, search, rate limits, saved tasks and the call log.

import { VERSION } from '@pocket-agent/kit';
import { openStore, type Store } from '@pocket-agent/store';
import {
  type Account,
  type Allowance,
  type Statement,
  type StatementQuery,
  type TokenInfo,
  type TokenRequest,
  tokenRequest,
} from '../base/account.ts';
import type { Caller, HubHealth } from '../base/agent3.ts';
import { Agent3Error } from '../base/agent3-error.ts';
import type {
  AgentDetails,
  CardJson,
  ClaimResult,
  Credential,
  Invocation,
  ListedAgent,
  Listing,
  ListingQuery,
  RateLimit,
  Registration,
  ReportList,
  SearchPage,
  SearchQuery,
} from '../base/agents.ts';
import type {
  CallLog,
  CallLogEntry,
  CallLogQuery,
  CallRecord,
  Feedback,
  FeedbackResult,
  Statistics,
  StatisticsQuery,
} from '../base/call-records.ts';
import { checkInput } from '../base/check-input.ts';
import { cleanExcerpt } from '../base/clean-text.ts';
import { digestOf } from '../base/digest.ts';
import { credentialsRequest, moderationRequest, reportRequest } from '../base/requests.ts';
import type { BudgetLimits, Directory, SavedTask, Spending } from '../bridge/directory.ts';
import { hostsOf, readCard } from '../cards/card.ts';
import { CardChecks } from '../cards/card-checks.ts';
import { CardSource } from '../cards/card-source.ts';
import { openVault, type Vault } from '../credentials/vault.ts';
import { CredentialStore } from './agents/credentials.ts';
import { detailsOf, invocationOf } from './agents/details.ts';
import { Freshness } from './agents/freshness.ts';
import { checkHealth, type HealthCheckOptions } from './agents/health-checks.ts';
import { addReport, checkAdmin, checkVisible, listReports } from './agents/moderation.ts';
import { checkOwner } from './agents/ownership.ts';
import { Proofs } from './agents/proofs.ts';
import { Registrations } from './agents/registrations.ts';
import { monthlyStatement, readAllowance, spentBy, writeAllowance } from './records/allowances.ts';
import { callOfReceipt, readCallLog } from './records/call-log.ts';
import { Receipts, recordCall } from './records/calls.ts';
import { addFeedback } from './records/feedback.ts';
import { hubHealth } from './records/hub-health.ts';
import { type AgentRow, listAgents, metricsOf, parse, summaryOf } from './records/listing.ts';
import { migrations } from './records/migrations.ts';
import { addToken, isValidToken, listTokens, revokeToken } from './records/named-tokens.ts';
import { type LimitedUse, RateLimits } from './records/rate-limits.ts';
import type { RegistrySchema } from './records/schema.ts';
import { dayOf, monthOf, spend } from './records/spending.ts';
import { callStatistics } from './records/statistics.ts';
import { findTask, saveTask } from './records/tasks.ts';
import type { RegistryOptions } from './registry-options.ts';
import { Search } from './search/search.ts';
import { SemanticIndex } from './search/semantic-index.ts';
import { postgresIndex, sqliteIndex } from './search/text-index.ts';
import { Vocabulary } from './search/words.ts';

const CALLER_RATE: RateLimit = { calls: 600, perSeconds: 60 };
const HEALTH_INTERVAL_MS = 300_000;
const HEALTH_CONCURRENCY = 4;
const DAY_MS = 86_400_000;
const MAX_STALE_MS = DAY_MS;
const CALLS_KEPT_MS = 90 * DAY_MS;
const PAID_CALLS_KEPT_MS = 400 * DAY_MS;
const MANY_AGENTS = 50_000;
const HEALTH_KEPT_MS = 15_000;
const MAX_OWN_AGENTS = 200;
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
    const receipts = new Receipts(setting('receipt-key'));
    return new Registry(options, { store, vault, receipts, proofKey: setting('proof-key'), hubId: setting('hub-id') });
  } catch (error) {
    await store.close();
    throw error;
  }
}

interface RegistryParts {
  store: Store<RegistrySchema>;
  vault: Vault;
  receipts: Receipts;
  proofKey: string;
  /** The same for all hubs of the database. */
  hubId: string;
}

export class Registry implements Directory {
  readonly hubId: string;
  readonly #store: Store<RegistrySchema>;
  readonly #checks: CardChecks;
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
  /** Two jobs, so that agents that answer slowly do not delay the removal of expired rows. */
  readonly #jobs = [new RecurringJob(() => this.checkHealth()), new RecurringJob(() => this.tidy())];
  #searchLatency: number | undefined;
  #health: { value: HubHealth; until: number } | undefined;

  constructor(options: RegistryOptions, { store, vault, receipts, proofKey, hubId }: RegistryParts) {
    this.hubId = hubId;
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
    const semanticIndex = embedder && new SemanticIndex(db, embedder);
    this.#search = new Search({ db, index, vocabulary, semanticIndex, now });
    const checks = new CardChecks({ source, trustedKeys });
    this.#checks = checks;
    const credentials = this.#credentials;
    const proofs = new Proofs({ source, key: proofKey });
    const { requireProof = false } = options;
    const registrations = new Registrations({
      db,
      index,
      vocabulary,
      semanticIndex,
      checks,
      credentials,
      proofs,
      requireProof,
      now,
    });
    this.#registrations = registrations;
    this.#freshness = new Freshness({ db, source, checks, registrations, now, maxStaleMs });
    this.#rateLimits = new RateLimits(db, { kind, now: options.now });
    this.#callerRate = callerRateLimit || undefined;
    const { intervalMs = HEALTH_INTERVAL_MS, concurrency = HEALTH_CONCURRENCY } = healthChecks || {};
    this.#healthOptions = { db, kind, source, freshness: this.#freshness, now, intervalMs, concurrency, signal };
    if (healthChecks) this.#timer = setInterval(() => this.#startJobs(), Math.min(ROUND_MS, intervalMs)).unref();
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
      nextCursor,
    };
  }

  async select(agentId: string, reader?: Caller): Promise<AgentDetails> {
    const row = await this.#row(agentId);
    checkVisible(row, reader);
    return detailsOf(this.#store.db, row, this.#now());
  }

  /** The public card and what a call needs; never a secret. */
  async invoke(agentId: string, reader?: Caller): Promise<Invocation> {
    await this.fresh(agentId);
    const row = await this.#row(agentId);
    checkVisible(row, reader);
    return invocationOf(this.#store.db, row, await this.credentials(agentId));
  }

  async register(registration: Registration, caller: Caller): Promise<AgentDetails> {
    return this.select(await this.#registrations.register(registration, caller), caller);
  }

  list(query: ListingQuery): Promise<Listing> {
    return listAgents(this.#store.db, query);
  }

  async claim(agentId: string, caller: Caller): Promise<ClaimResult> {
    return this.#registrations.claim(await this.#row(agentId), caller);
  }

  async setCredentials(agentId: string, input: readonly Credential[], caller: Caller): Promise<void> {
    const { credentials } = checkInput(credentialsRequest, { credentials: input });
    const row = await this.#row(agentId);
    checkOwner(row.owner, caller);
    const { db } = this.#store;
    if (credentials.length === 0) return this.#credentials.remove(db, row);
    const hosts = hostsOf(readCard(parse<CardJson>(row.card)));
    await this.#credentials.put(db, row, { credentials, hosts });
  }

  async report(agentId: string, input: string, caller: Caller): Promise<void> {
    const { reason } = checkInput(reportRequest, { reason: input });
    await addReport(this.#store.db, { agent: await this.#row(agentId), reason, caller, now: this.#now() });
  }

  async moderate(agentId: string, input: string | undefined, caller: Caller): Promise<void> {
    const { hidden } = checkInput(moderationRequest, { hidden: input ?? null });
    checkAdmin(caller);
    await this.#registrations.setHidden(await this.#row(agentId), hidden);
  }

  async reports(caller: Caller): Promise<ReportList> {
    checkAdmin(caller);
    return listReports(this.#store.db);
  }

  async account(caller: Caller): Promise<Account> {
    const { db } = this.#store;
    const { id: owner, isAdmin = false } = caller;
    const now = this.#now();
    const agents = await db
      .selectFrom('agent3_agents')
      .select(['id', 'name', 'proof', 'hidden'])
      .where('owner', '=', owner)
      .orderBy('number', 'desc')
      .limit(MAX_OWN_AGENTS)
      .execute();
    const kinds = await this.#credentials.kindsOf(owner);
    return {
      owner,
      isAdmin,
      limits: await this.allowance(owner),
      spent: await spentBy(db, owner, now),
      tokens: await listTokens(db, owner, now),
      agents: agents.map(({ id, name, proof, hidden }) => ({
        id,
        name,
        ...(proof === null ? {} : { proof }),
        ...(hidden === null ? {} : { hidden }),
        credentials: kinds.get(id) ?? [],
      })),
    };
  }

  allowance(owner: string): Promise<Allowance> {
    return readAllowance(this.#store.db, owner);
  }

  async setLimits(limits: Allowance, { id: owner }: Caller): Promise<void> {
    await writeAllowance(this.#store.db, { owner, limits, now: this.#now() });
  }

  statement({ month }: StatementQuery, { id: owner }: Caller): Promise<Statement> {
    return monthlyStatement(this.#store.db, { owner, month, receipts: this.#receipts, now: this.#now() });
  }

  receipt(receipt: string, reader: Caller): Promise<CallLogEntry> {
    return callOfReceipt(this.#store.db, receipt, { reader, receipts: this.#receipts });
  }

  addToken(request: TokenRequest, { id: owner }: Caller): Promise<TokenInfo> {
    const { name, days } = checkInput(tokenRequest, request);
    return addToken(this.#store.db, { owner, name, days, now: this.#now() });
  }

  revokeToken(id: string, { id: owner }: Caller): Promise<void> {
    return revokeToken(this.#store.db, owner, id);
  }

  isValidToken(owner: string, id: string): Promise<boolean> {
    return isValidToken(this.#store.db, { owner, id, now: this.#now() });
  }

  /** Registers many cards in one transaction. */
  importCards(cards: readonly CardJson[], caller: Caller): Promise<void> {
    return this.#registrations.importCards(cards, caller);
  }

  async unregister(agentId: string, caller: Caller): Promise<void> {
    await this.#registrations.unregister(await this.#row(agentId), caller);
  }

  feedback(feedback: Feedback, caller: Caller): Promise<FeedbackResult> {
    return addFeedback(this.#store.db, feedback, { caller, receipts: this.#receipts, now: this.#now() });
  }

  /** A card from another hub, checked as if it were registered. */
  async check(card: CardJson): Promise<Pick<ListedAgent, 'card' | 'digest' | 'verified'>> {
    const { json, isVerified } = await this.#checks.check(card);
    return { card: json, digest: digestOf(json), verified: isVerified };
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

  saveTask(task: SavedTask): Promise<void> {
    return saveTask(this.#store.db, task);
  }

  task(taskHandle: string): Promise<SavedTask | undefined> {
    return findTask(this.#store.db, taskHandle, this.#now());
  }

  calls(query: CallLogQuery, reader: Caller): Promise<CallLog> {
    return readCallLog(this.#store.db, query, { reader, receipts: this.#receipts });
  }

  statistics(query: StatisticsQuery): Promise<Statistics> {
    return callStatistics(this.#store.db, query);
  }

  /** Checks the agents that are due and returns how many. Runs periodically unless health checks are off. */
  checkHealth(): Promise<number> {
    return checkHealth(this.#healthOptions);
  }

  /** Deletes expired rows. Runs periodically with the health checks. */
  async tidy(): Promise<void> {
    const { db } = this.#store;
    const now = this.#now();
    await db.deleteFrom('agent3_tasks').where('expires_at', '<', now).execute();
    await db.deleteFrom('agent3_rate_windows').where('expires_at', '<', now).where('expires_at', '>', 0).execute();
    await db
      .deleteFrom('agent3_spending')
      .where('day', '<', dayOf(now - DAY_MS))
      .execute();
    await db
      .deleteFrom('agent3_spending')
      .where('day', '>=', 'month ')
      .where('day', '<', monthOf(now - 32 * DAY_MS))
      .execute();
    await db.deleteFrom('agent3_tokens').where('expires_at', '<', now).execute();
    // statements need paid calls for longer
    await db
      .deleteFrom('agent3_calls')
      .where('started_at', '<', now - CALLS_KEPT_MS)
      .where(({ or, eb }) =>
        or([eb('cost', 'is', null), eb('cost', '=', 0), eb('started_at', '<', now - PAID_CALLS_KEPT_MS)]),
      )
      .execute();
  }

  async health(): Promise<HubHealth> {
    const now = this.#now();
    if (this.#health && this.#health.until > now) return this.#health.value;
    const value = await hubHealth(this.#store, { now, searchLatency: this.#searchLatency, version: VERSION });
    // counting many agents takes a while, and every open page asks
    const isLarge = value.network.totalAgents > MANY_AGENTS;
    this.#health = isLarge ? { value, until: now + HEALTH_KEPT_MS } : undefined;
    return value;
  }

  async close(): Promise<void> {
    clearInterval(this.#timer);
    this.#closing.abort(new Agent3Error('CARD_UNAVAILABLE', 'The registry was closed'));
    for (const job of this.#jobs) await job.finish();
    await this.#store.close();
  }

  #startJobs(): void {
    for (const job of this.#jobs) job.start();
  }

  async #row(agentId: string): Promise<AgentRow & { card: string }> {
    const row = await this.#freshness.row(agentId);
    if (!row) throw unknownAgent(agentId);
    return row;
  }
}

/** Work that never runs twice at the same time. */
class RecurringJob {
  readonly #work: () => Promise<unknown>;
  #running: Promise<void> | undefined;

  constructor(work: () => Promise<unknown>) {
    this.#work = work;
  }

  /** Does nothing while the previous run has not ended. */
  start(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
  }

  async finish(): Promise<void> {
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#work();
    } catch {
      // health() reports an unavailable database; the next run tries again
    }
  }
}

function unknownAgent(agentId: string): Agent3Error {
  return new Agent3Error('AGENT_UNKNOWN', `There is no agent "${cleanExcerpt(agentId, 100)}"; use an id from a search`);
}
