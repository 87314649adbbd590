// One agent's access to a conversation. A run holds a lease, which a heartbeat renews; other runs wait for it. Every
// write checks the lease and the number of saved messages, so writes of two processes never interleave.
import { delay, PocketError } from '@pocket-agent/kit';
import { sql } from 'kysely';
import type { AppendOptions, MessageLog, SavedMessage, SavedMessages } from './conversation-agent.ts';
import { createRow, expiry, newRow } from './conversation-rows.ts';
import {
  type ConversationStore,
  databaseTime,
  inTransaction,
  isAlive,
  isFree,
  keyOf,
  type Place,
  timeIn,
} from './database.ts';
import type { Memories } from './memories.ts';
import { deleteMessages, insertMessages, messageRow, readMessages, titleOf } from './message-rows.ts';
import { type ResultLimits, SavedResults } from './saved-results.ts';

const FIRST_PAUSE_MS = 10;
const MAX_PAUSE_MS = 250;
const RENEWALS_PER_LEASE = 3;

export interface LogOptions {
  /** How long a run waits for another one. */
  waitMs: number;
  /** A lease ends this long after its last renewal. */
  leaseMs: number;
  expiresAfterMs: number | undefined;
  memory: Memories;
}

export class LeasedLog implements MessageLog {
  readonly #store: ConversationStore;
  readonly #place: Place;
  readonly #key: string;
  readonly #options: LogOptions;
  /** The position up to which messages were read or written. */
  #generation: string | undefined;
  #length = 0;
  #lease: string | undefined;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(store: ConversationStore, place: Place, options: LogOptions) {
    this.#store = store;
    this.#place = place;
    this.#key = keyOf(place);
    this.#options = options;
  }

  get memory(): Memories {
    return this.#options.memory;
  }

  results(limits: ResultLimits): SavedResults {
    return new SavedResults(this.#store, this.#key, limits);
  }

  async read(): Promise<SavedMessages> {
    const found = await this.#store.db
      .selectFrom('pocket_conversations')
      .select(['generation', 'compacted'])
      .where('key', '=', this.#key)
      .where(isAlive(this.#store))
      .executeTakeFirst();
    const isSame = found?.generation === this.#generation;
    const start = isSame ? this.#length : 0;
    const read = found && (await readMessages(this.#store, this.#key, start));
    if (found && read?.generation !== found.generation) return this.read(); // it was reset in between
    const replaces = this.#generation !== undefined && !isSame;
    const { messages = [] } = read ?? {};
    this.#generation = found?.generation;
    this.#length = start + messages.length;
    return { messages, replaces, ...(found?.compacted ? { compacted: JSON.parse(found.compacted) } : {}) };
  }

  async begin(signal: AbortSignal): Promise<SavedMessages> {
    const { waitMs, leaseMs } = this.#options;
    const lease = crypto.randomUUID();
    const deadline = performance.now() + waitMs;
    for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(pauseMs * 1.5, MAX_PAUSE_MS)) {
      signal.throwIfAborted();
      if (await this.#acquire(lease)) break;
      const leftMs = deadline - performance.now();
      if (leftMs <= 0) throw this.#busy();
      await delay(Math.min(pauseMs, leftMs), signal);
    }
    this.#lease = lease;
    this.#heartbeat = setInterval(() => void this.#renew().catch(() => {}), leaseMs / RENEWALS_PER_LEASE).unref();
    try {
      return await this.read();
    } catch (error) {
      await this.end().catch(() => {}); // report the first error
      throw error;
    }
  }

  async append(messages: readonly SavedMessage[], { replaces, compacted }: AppendOptions): Promise<void> {
    const start = replaces ? 0 : this.#length;
    const rows = messages.map((message, index) =>
      messageRow(message, { conversation: this.#key, number: start + index }),
    );
    const generation = replaces ? crypto.randomUUID() : this.#generation;
    await inTransaction(this.#store, async (store) => {
      const { numUpdatedRows } = await store.db
        .updateTable('pocket_conversations')
        .set({
          ...(generation === undefined ? {} : { generation }),
          length: start + rows.length,
          updated_at: databaseTime(store),
          lease_until: timeIn(store, this.#options.leaseMs),
          expires_at: expiry(store, this.#options.expiresAfterMs),
          ...(replaces || compacted ? { compacted: compacted ? JSON.stringify(compacted) : null } : {}),
          ...(start === 0 ? { title: sql<string>`case when title = '' then ${titleOf(messages)} else title end` } : {}),
        })
        .where('key', '=', this.#key)
        .where('lease', '=', this.#lease ?? '')
        .where('generation', '=', this.#generation ?? '')
        .where('length', '=', this.#length)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows !== 1n) throw await this.#lost(store);
      if (replaces) await deleteMessages(store, this.#key);
      await insertMessages(store, rows);
    });
    this.#generation = generation;
    this.#length = start + rows.length;
  }

  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    const lease = this.#lease ?? '';
    this.#lease = undefined;
    const { db } = this.#store;
    const released = db
      .updateTable('pocket_conversations')
      .set({ lease: null, lease_until: 0 })
      .where('key', '=', this.#key)
      .where('lease', '=', lease);
    const deleted = db
      .deleteFrom('pocket_conversations')
      .where('key', '=', this.#key)
      .where('lease', '=', lease)
      .where('length', '=', 0);
    if (this.#length === 0) await deleted.execute();
    await released.execute();
  }

  /** False if another run holds the conversation. */
  async #acquire(lease: string): Promise<boolean> {
    const store = this.#store;
    const until = timeIn(store, this.#options.leaseMs);
    const { numUpdatedRows } = await store.db
      .updateTable('pocket_conversations')
      .set({ lease, lease_until: until })
      .where('key', '=', this.#key)
      .where(isFree(store))
      .where(isAlive(store))
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 1n) return true;
    const row = { ...newRow(store, this.#place, this.#options.expiresAfterMs), lease, lease_until: until };
    return inTransaction(store, (transaction) => createRow(transaction, row));
  }

  async #renew(): Promise<void> {
    await this.#store.db
      .updateTable('pocket_conversations')
      .set({ lease_until: timeIn(this.#store, this.#options.leaseMs) })
      .where('key', '=', this.#key)
      .where('lease', '=', this.#lease ?? '')
      .execute();
  }

  #busy(): PocketError {
    const waited = `after ${this.#options.waitMs} ms`;
    const text = `The conversation "${this.#place.id}" is still in use by another run ${waited}. Try again later.`;
    return new PocketError('CONVERSATION_BUSY', text, { details: { conversation: this.#place.id } });
  }

  async #lost({ db }: ConversationStore): Promise<PocketError> {
    const { id } = this.#place;
    const found = await db
      .selectFrom('pocket_conversations')
      .select('lease')
      .where('key', '=', this.#key)
      .executeTakeFirst();
    let reason = 'it was deleted during the run';
    if (found && found.lease === this.#lease) reason = 'an earlier save failed';
    else if (found)
      reason = `another run took it over, because this one had not renewed its lease for ${this.#options.leaseMs} ms`;
    const text = `The conversation "${id}" could not be saved: ${reason}. Run again to continue it.`;
    return new PocketError('CONVERSATION_LOST', text, { details: { conversation: id } });
  }
}
