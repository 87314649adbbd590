// Keeps cards current: fetches a stale card once for all concurrent callers. If that fails, the old card stays in use
// for a while.

import { abortable } from '@pocket-agent/kit';
import type { Kysely } from 'kysely';
import { Agent3Error } from '../../base/agent3-error.ts';
import type { ListedAgent } from '../../base/agents.ts';
import { canBeKey } from '../../base/check-input.ts';
import { addressesOf } from '../../cards/addresses.ts';
import type { CardChecks } from '../../cards/card-checks.ts';
import type { CardSource } from '../../cards/card-source.ts';
import { type AgentRow, listedAgent, parse } from '../records/listing.ts';
import type { RegistrySchema } from '../records/schema.ts';
import { inheritedPrice } from './endpoint-prices.ts';
import type { Registrations } from './registrations.ts';

const RETRY_MS = 60_000;
/** Minimum time between two refreshes of one card because of failed calls. */
const RENEW_INTERVAL_MS = 5_000;
const MAX_RENEWED = 10_000;

interface FreshnessOptions {
  db: Kysely<RegistrySchema>;
  source: CardSource;
  checks: CardChecks;
  registrations: Registrations;
  now: () => number;
  /** A card that cannot be fetched again is not used beyond this age. */
  maxStaleMs: number;
}

export class Freshness {
  readonly #options: FreshnessOptions;
  readonly #refreshing = new Map<string, Promise<void>>();
  readonly #renewedAt = new Map<string, number>();

  constructor(options: FreshnessOptions) {
    this.#options = options;
  }

  async find(agentId: string): Promise<ListedAgent | undefined> {
    const row = await this.row(agentId);
    return row && listedAgent(row);
  }

  async fresh(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined> {
    const row = await this.row(agentId);
    if (!row || row.card_url === null) return row && listedAgent(row);
    if (row.fresh_until > this.#options.now()) return this.#oldCard(row);
    try {
      // the signal ends only this wait; the request continues for other callers
      const refreshing = this.refresh(row);
      await (signal ? abortable(refreshing, signal) : refreshing);
    } catch (cause) {
      signal?.throwIfAborted();
      return this.#oldCard(row, cause);
    }
    return this.find(agentId);
  }

  /** Fetches the card even if it is not stale. Returns the old one if that fails or was done a moment ago. */
  async renewed(agentId: string, signal?: AbortSignal): Promise<ListedAgent | undefined> {
    const row = await this.row(agentId);
    if (!row || row.card_url === null) return row && listedAgent(row);
    if (!this.#mayRenew(agentId)) return listedAgent(row);
    try {
      const refreshing = this.refresh(row);
      await (signal ? abortable(refreshing, signal) : refreshing);
    } catch {
      signal?.throwIfAborted();
      return listedAgent(row);
    }
    return this.find(agentId);
  }

  #mayRenew(agentId: string): boolean {
    const now = this.#options.now();
    if (now - (this.#renewedAt.get(agentId) ?? Number.NEGATIVE_INFINITY) < RENEW_INTERVAL_MS)
      return this.#refreshing.has(agentId);
    if (this.#renewedAt.size >= MAX_RENEWED) this.#renewedAt.clear();
    this.#renewedAt.set(agentId, now);
    return true;
  }

  /** Throws if the card is too old for a call. */
  #oldCard(row: AgentRow & { card: string }, cause?: unknown): ListedAgent {
    const { now, maxStaleMs } = this.#options;
    if (now() - row.refreshed_at <= maxStaleMs) return listedAgent(row);
    const reason = cause instanceof Error ? cause.message : 'Try again in a minute.';
    throw new Agent3Error('CARD_UNAVAILABLE', `The card of "${row.name}" is too old to use. ${reason}`, { cause });
  }

  /** Throws if the card cannot be fetched or is invalid; the old one stays. */
  refresh(row: AgentRow): Promise<void> {
    const running = this.#refreshing.get(row.id);
    if (running) return running;
    const refreshing = this.#refresh(row).finally(() => this.#refreshing.delete(row.id));
    this.#refreshing.set(row.id, refreshing);
    return refreshing;
  }

  async #refresh(row: AgentRow): Promise<void> {
    const { db, source, checks, registrations, now } = this.#options;
    if (row.card_url === null) return;
    // the agent may be removed or taken over while the card is fetched
    const update = db.updateTable('agent3_agents').where('id', '=', row.id).where('owner', '=', row.owner);
    try {
      const fetched = await source.fetchCard(row.card_url, row.etag ?? undefined);
      if (fetched.isChanged) {
        const checked = await checks.check(fetched.card, { ...fetched, url: row.card_url });
        await registrations.replaceCard(row, checked);
      } else await update.set({ refreshed_at: now(), fresh_until: now() + fetched.freshMs }).execute();
    } catch (error) {
      // do not retry with every call
      await update.set({ fresh_until: now() + RETRY_MS }).execute();
      throw error;
    }
  }

  /** The agent with its card; without a price of its own, it has the price of its address. */
  async row(agentId: string): Promise<(AgentRow & { card: string }) | undefined> {
    if (!canBeKey(agentId)) return undefined;
    const { db } = this.#options;
    const row = await db
      .selectFrom('agent3_agents')
      .innerJoin('agent3_cards', 'agent_number', 'number')
      .selectAll('agent3_agents')
      .select('card')
      .where('id', '=', agentId)
      .executeTakeFirst();
    if (!row || row.price !== null) return row;
    const { number, owner, registered_at: registeredAt, card } = row;
    const price = await inheritedPrice(db, { addresses: addressesOf(parse(card)), number, owner, registeredAt });
    return { ...row, price: price ?? null };
  }
}
