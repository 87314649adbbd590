// Facts that agents remember, separate for each owner, who can list and erase them.
import { configError, PocketError } from '@pocket-agent/kit';
import { type ConversationStore, databaseTime } from './database.ts';
import type { Owner } from './listing.ts';
import { plainText } from './message-rows.ts';
import { checkMemoryOptions, checkOwner } from './options.ts';

const MAX_TEXT_LENGTH = 2_000;
const MAX_MEMORIES = 1_000;
const DEFAULT_LIMIT = 10;

/** A fact that is remembered about an owner. */
export interface Memory {
  id: string;
  text: string;
  createdAt: Date;
}

interface OwnerOption {
  /** Default: the owner of the conversations. */
  owner?: string | undefined;
}

export class Memories {
  readonly #store: ConversationStore;
  readonly #place: Owner;

  constructor(store: ConversationStore, place: Owner) {
    this.#store = store;
    this.#place = place;
  }

  /** A text that is remembered already keeps its id. */
  async remember(options: OwnerOption & { text: string }): Promise<Memory> {
    checkMemoryOptions('remember()', options, 'text');
    const { text, owner } = options;
    const kept = plainText(text).trim();
    checkText(kept);
    const known = await this.list({ owner });
    const same = known.find((memory) => memory.text === kept);
    if (same) return same;
    if (known.length >= MAX_MEMORIES)
      throw new PocketError('CONFIG_INVALID', `There are ${MAX_MEMORIES} memories already; forget some of them first.`);
    const id = crypto.randomUUID().slice(0, 8);
    const row = await this.#store.db
      .insertInto('pocket_memories')
      .values({ ...this.#placeOf(owner), id, text: kept, created_at: databaseTime(this.#store) })
      .returning('created_at')
      .executeTakeFirstOrThrow();
    return { id, text: kept, createdAt: new Date(row.created_at) };
  }

  /** Memories that contain words of the query, those with most of them first. An empty query finds the newest. */
  async recall(options: OwnerOption & { query: string; limit?: number }): Promise<Memory[]> {
    checkMemoryOptions('recall()', options, 'query');
    const { query, owner, limit = DEFAULT_LIMIT } = options;
    const words = new Set(query.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []);
    const all = await this.list({ owner });
    if (words.size === 0) return all.slice(0, limit);
    const found = all.map((memory) => {
      const text = memory.text.toLowerCase();
      return { memory, score: [...words].filter((word) => text.includes(word)).length };
    });
    const matching = found.filter(({ score }) => score > 0).sort((a, b) => b.score - a.score);
    return matching.slice(0, limit).map(({ memory }) => memory);
  }

  /** False if there is no such memory. */
  async forget(options: OwnerOption & { id: string }): Promise<boolean> {
    checkMemoryOptions('forget()', options, 'id');
    const { id, owner } = options;
    const { numDeletedRows } = await this.#deletion(owner).where('id', '=', plainText(id)).executeTakeFirstOrThrow();
    return numDeletedRows === 1n;
  }

  /** Newest first. */
  async list(options: OwnerOption = {}): Promise<Memory[]> {
    checkMemoryOptions('list()', options, 'owner');
    const place = this.#placeOf(options.owner);
    const rows = await this.#store.db
      .selectFrom('pocket_memories')
      .selectAll()
      .where('scope', '=', place.scope)
      .where('owner', '=', place.owner)
      .orderBy('created_at', 'desc')
      .orderBy('id')
      .limit(MAX_MEMORIES)
      .execute();
    return rows.map(({ id, text, created_at }) => ({ id, text, createdAt: new Date(created_at) }));
  }

  /** Deletes all memories of the owner, and returns their number. */
  async erase(options: OwnerOption = {}): Promise<number> {
    checkMemoryOptions('erase()', options, 'owner');
    const { numDeletedRows } = await this.#deletion(options.owner).executeTakeFirstOrThrow();
    return Number(numDeletedRows);
  }

  #deletion(owner: string | undefined) {
    const place = this.#placeOf(owner);
    return this.#store.db
      .deleteFrom('pocket_memories')
      .where('scope', '=', place.scope)
      .where('owner', '=', place.owner);
  }

  #placeOf(owner = this.#place.owner): Owner {
    checkOwner(owner);
    return { scope: this.#place.scope, owner };
  }
}

function checkText(text: string): void {
  if (text === '') throw configError('A memory needs a text.');
  if (text.length <= MAX_TEXT_LENGTH) return;
  const wayOut = 'shorten it, or keep several memories';
  throw configError(`A memory has at most ${MAX_TEXT_LENGTH} characters, and this text has ${text.length}: ${wayOut}.`);
}
