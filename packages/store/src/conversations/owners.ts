// Owners of conversations and memories: lists them, and erases all data of one.
import { sql } from 'kysely';
import { type ConversationStore, inTransaction, isAlive } from './database.ts';
import type { ListOptions } from './listing.ts';

/** How much is saved about one person or program. */
export interface OwnerInfo {
  /** The empty string: what belongs to no owner. */
  owner: string;
  /** The number of conversations. */
  conversations: number;
  /** The number of memories. */
  memories: number;
  /** When a conversation was continued or a fact was remembered last. */
  updatedAt: Date;
}

/** One page of owners with saved data. */
export interface OwnerPage {
  owners: OwnerInfo[];
  /** The cursor of the next page; undefined after the last one. */
  next: string | undefined;
}

interface OwnerRow {
  owner: string;
  conversations: number;
  memories: number;
  updated_at: number;
}

/** Lists owners by name, in pages. */
export async function listOwners(
  store: ConversationStore,
  scope: string,
  { prefix = '', limit = 50, cursor }: ListOptions,
): Promise<OwnerPage> {
  // counted in code points, as databases do
  const isWanted = sql`scope = ${scope} and substr(owner, 1, ${sql.lit([...prefix].length)}) = ${prefix}
    ${cursor === undefined ? sql`` : sql`and owner > ${cursor.slice(1)}`}`;
  const { rows } = await sql<OwnerRow>`
    select owner, cast(sum(conversations) as bigint) as conversations, cast(sum(memories) as bigint) as memories,
      max(updated_at) as updated_at
    from (
      select owner, count(*) as conversations, 0 as memories, max(updated_at) as updated_at
        from pocket_conversations where ${isWanted} and length > 0 and ${isAlive(store)} group by owner
      union all
      select owner, 0, count(*), max(created_at) from pocket_memories where ${isWanted} group by owner
    ) as kept
    group by owner order by owner limit ${sql.lit(limit + 1)}`.execute(store.db);
  const owners = rows.slice(0, limit).map(({ updated_at, ...row }) => ({ ...row, updatedAt: new Date(updated_at) }));
  const last = owners.at(-1);
  return { owners, next: rows.length > limit && last ? `>${last.owner}` : undefined };
}

/** How much `eraseOwner` deleted. */
export interface ErasedOwner {
  conversations: number;
  memories: number;
}

/** Also deletes conversations that a run holds: the run fails when it saves its next step. */
export async function eraseOwner(
  store: ConversationStore,
  { scope, owner }: { scope: string; owner: string },
): Promise<ErasedOwner> {
  return inTransaction(store, async ({ db }) => {
    const [conversations, memories] = [
      await db
        .deleteFrom('pocket_conversations')
        .where('scope', '=', scope)
        .where('owner', '=', owner)
        .executeTakeFirstOrThrow(),
      await db
        .deleteFrom('pocket_memories')
        .where('scope', '=', scope)
        .where('owner', '=', owner)
        .executeTakeFirstOrThrow(),
    ];
    return {
      conversations: Number(conversations.numDeletedRows),
      memories: Number(memories.numDeletedRows),
    };
  });
}
