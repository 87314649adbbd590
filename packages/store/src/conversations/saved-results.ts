// Large tool results of one conversation, which its agents read again. They are deleted with the conversation.
import { isRecord } from '@pocket-agent/kit';
import { sql } from 'kysely';
import { type ConversationStore, databaseTime, timeIn } from './database.ts';

export interface ResultLimits {
  /** Default: 30 days. */
  expiresAfterMs?: number | undefined;
  /** The limit for all results of the conversation; the oldest make room. Default: 64 MiB. */
  maxTotalBytes?: number | undefined;
}

/** Where a result is from. */
interface ResultOrigin {
  tool: string;
  toolCallId: string;
}

interface OpenResult extends ResultOrigin {
  bytes: number;
  read(from: number, length: number): Promise<Buffer>;
  close(): Promise<void>;
}

const MONTH_MS = 30 * 86_400_000;
const DEFAULT_BYTES = 64 * 1024 * 1024;
/** Expired results of all conversations that are deleted with a new one. */
const DELETED_AT_ONCE = 50;

export class SavedResults {
  readonly #store: ConversationStore;
  readonly #conversation: string;
  readonly #expiresAfterMs: number;
  readonly #maxTotalBytes: number;

  /** `conversation`: the key of the conversation. */
  constructor(store: ConversationStore, conversation: string, limits: ResultLimits) {
    this.#store = store;
    this.#conversation = conversation;
    this.#expiresAfterMs = limits.expiresAfterMs ?? MONTH_MS;
    this.#maxTotalBytes = limits.maxTotalBytes ?? DEFAULT_BYTES;
  }

  /** False if it is too large. */
  async keep(id: string, { text, tool, toolCallId }: ResultOrigin & { text: string }): Promise<boolean> {
    const content = Buffer.from(text);
    if (content.length > this.#maxTotalBytes / 4) return false;
    const { db } = this.#store;
    await this.#makeRoom(content.length);
    await db
      .insertInto('pocket_results')
      .values({
        id,
        conversation: this.#conversation,
        origin: JSON.stringify({ tool, toolCallId }),
        bytes: content.length,
        content,
        created_at: databaseTime(this.#store),
        expires_at: timeIn(this.#store, this.#expiresAfterMs),
      })
      .execute();
    return true;
  }

  async open(id: string): Promise<OpenResult | undefined> {
    const row = await this.#row(id)
      .select(['origin', 'bytes'])
      .where('expires_at', '>', databaseTime(this.#store))
      .executeTakeFirst();
    const origin = row && originIn(row.origin);
    if (!origin) return undefined;
    const read = (from: number, length: number) => this.#read(id, { from, length });
    return { ...origin, bytes: row.bytes, read, close: async () => {} };
  }

  async remove(id: string): Promise<void> {
    await this.#store.db
      .deleteFrom('pocket_results')
      .where('conversation', '=', this.#conversation)
      .where('id', '=', id)
      .execute();
  }

  async #read(id: string, { from, length }: { from: number; length: number }): Promise<Buffer> {
    const part = sql<Uint8Array>`substr(content, ${sql.lit(from + 1)}, ${sql.lit(length)})`;
    const row = await this.#row(id).select(part.as('part')).executeTakeFirst();
    return Buffer.from(row?.part ?? []);
  }

  #row(id: string) {
    return this.#store.db
      .selectFrom('pocket_results')
      .where('conversation', '=', this.#conversation)
      .where('id', '=', id);
  }

  async #makeRoom(bytes: number): Promise<void> {
    const { db } = this.#store;
    const expired = db
      .selectFrom('pocket_results')
      .select('id')
      .where('expires_at', '<=', databaseTime(this.#store))
      .limit(DELETED_AT_ONCE);
    await db.deleteFrom('pocket_results').where('id', 'in', expired).execute();
    const own = db
      .selectFrom('pocket_results')
      .select(['id', sql<number>`sum(bytes) over (order by created_at desc, id)`.as('total')])
      .where('conversation', '=', this.#conversation);
    const oldest = db
      .selectFrom(own.as('own'))
      .select('id')
      .where('total', '>', this.#maxTotalBytes - bytes);
    await db.deleteFrom('pocket_results').where('id', 'in', oldest).execute();
  }
}

/** Undefined if another program wrote it. */
function originIn(json: string): ResultOrigin | undefined {
  const origin: unknown = JSON.parse(json);
  if (!isRecord(origin)) return undefined;
  const { tool, toolCallId } = origin;
  return typeof tool === 'string' && typeof toolCallId === 'string' ? { tool, toolCallId } : undefined;
}
