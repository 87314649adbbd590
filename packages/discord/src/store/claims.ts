// Claims: one row per question, so that each is answered once. All processes share one queue per conversation.
import { SnowflakeUtil } from 'discord.js';
import { sql } from 'kysely';
import { type ConversationOwnership, OPEN_STATES } from './ownership.ts';
import type { BotDatabase, Claim } from './schema.ts';

type NewClaim = Omit<Claim, 'state' | 'replies' | 'created_at' | 'run'> & { run?: string };

/** Orders snowflakes by age: a longer id is newer, ids of the same length sort as strings. */
const byAge = sql`length(id), id`;
const PENDING_MS = 3_600_000;
const RETENTION_MS = 7 * 24 * 3_600_000;
/** Longer than the three seconds in which Discord accepts the first answer to a command. */
const ACKNOWLEDGE_MS = 10_000;
/** How many direct-message channels are checked for missed messages, the most recently used first. */
const MAX_DIRECT = 100;

/** The newest claimed message of a channel; all messages before it have been handled. */
export interface Checkpoint {
  channelId: string;
  guildId: string | null;
  newest: string;
}

export class Claims {
  readonly #db: BotDatabase;
  readonly #ownership: ConversationOwnership;

  constructor(db: BotDatabase, ownership: ConversationOwnership) {
    this.#db = db;
    this.#ownership = ownership;
  }

  /** Adds the question of a scheduled run. False if the run has asked already. */
  async addScheduled(claim: Omit<NewClaim, 'id'> & { run: string }): Promise<boolean> {
    for (;;) {
      if (await this.add({ ...claim, id: String(SnowflakeUtil.generate()) })) return true;
      const asked = this.#db.selectFrom('discord_claims').select('id').where('run', '=', claim.run);
      if (await asked.executeTakeFirst()) return false;
      // another process generated the same id
    }
  }

  /** False if the message is claimed already, or the run has asked. */
  async add(claim: NewClaim, state: Claim['state'] = 'queued'): Promise<boolean> {
    const now = await this.#touch(claim.conversation);
    const { numInsertedOrUpdatedRows } = await this.#db
      .insertInto('discord_claims')
      .values({ ...claim, state, replies: '[]', created_at: now })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return (numInsertedOrUpdatedRows ?? 0n) > 0n;
  }

  /** Queues a command in state `asked`, with the message that will show its answer. */
  async enqueue(id: string, replies: readonly string[]): Promise<void> {
    await this.#setIf('asked', id, { state: 'queued', replies: JSON.stringify(replies) });
  }

  /** Queues a command in state `asked` in another channel, such as a new thread. */
  async enqueueIn(id: string, { channelId, conversation }: { channelId: string; conversation: string }): Promise<void> {
    await this.#touch(conversation);
    await this.#setIf('asked', id, { state: 'queued', conversation, channel_id: channelId });
  }

  /** Queues commands whose process ended before it answered. */
  async enqueueOrphaned(): Promise<void> {
    await this.#db
      .updateTable('discord_claims')
      .set({ state: 'queued' })
      .where('state', '=', 'asked')
      .where('created_at', '<', Date.now() - ACKNOWLEDGE_MS)
      .execute();
  }

  get(id: string): Promise<Claim | undefined> {
    return this.#db.selectFrom('discord_claims').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** How many questions of a user or a guild were accepted and refused after the time `since`. Those of schedules do not count. */
  async countSince(
    scope: { userId: string } | { guildId: string },
    since: number,
  ): Promise<{ accepted: number; refused: number }> {
    const query = this.#db
      .selectFrom('discord_claims')
      .where('created_at', '>', since)
      .where('kind', '!=', 'scheduled');
    const scoped =
      'userId' in scope ? query.where('user_id', '=', scope.userId) : query.where('guild_id', '=', scope.guildId);
    const { all, refused } = await scoped
      .select(({ fn, eb }) => [
        fn.countAll<number>().as('all'),
        fn.count<number>(eb.case().when('state', '=', 'refused').then(1).end()).as('refused'),
      ])
      .executeTakeFirstOrThrow();
    return { accepted: all - refused, refused };
  }

  /** Counts open questions of a user; after an hour a question no longer counts. */
  async countPending(userId: string): Promise<number> {
    const { count } = await this.#db
      .selectFrom('discord_claims')
      .where('user_id', '=', userId)
      .where('kind', '!=', 'scheduled')
      .where('state', 'in', OPEN_STATES)
      .where('created_at', '>', Date.now() - PENDING_MS)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return count;
  }

  /** The oldest open claim. Its state is not `queued` if a process has started on it. */
  next(conversation: string): Promise<Claim | undefined> {
    return this.#db
      .selectFrom('discord_claims')
      .selectAll()
      .where('conversation', '=', conversation)
      .where('state', 'in', OPEN_STATES)
      .orderBy(byAge)
      .limit(1)
      .executeTakeFirst();
  }

  /** Marks a claim as running, so that no notice is added. Returns the ids of the notice it had. */
  async begin({ id, kind, conversation }: Claim): Promise<string[]> {
    return this.#ownership.whileOwner(conversation, async (transaction) => {
      const { replies } = await transaction
        .updateTable('discord_claims')
        .set({ state: 'running' })
        .where('id', '=', id)
        .returning('replies')
        .executeTakeFirstOrThrow();
      if (kind !== 'message') return [];
      await transaction.updateTable('discord_claims').set({ replies: '[]' }).where('id', '=', id).execute();
      return JSON.parse(replies);
    });
  }

  /** Records that a tool was called. Throws if another process owns the conversation. */
  markActing(claim: Claim): Promise<void> {
    return this.#set(claim, { state: 'acting' });
  }

  finish(claim: Claim): Promise<void> {
    return this.#set(claim, { state: 'done' });
  }

  /** Cancels a queued question. False if it runs or has ended. */
  async cancel(id: string): Promise<boolean> {
    return this.#setIf('queued', id, { state: 'done' });
  }

  /** False if the question is no longer queued. */
  async setNotice(id: string, notice: string): Promise<boolean> {
    return this.#setIf('queued', id, { replies: JSON.stringify([notice]) });
  }

  setReplies(claim: Claim, replies: readonly string[]): Promise<void> {
    return this.#set(claim, { replies: JSON.stringify(replies) });
  }

  async isBusy(conversation: string): Promise<boolean> {
    return (await this.next(conversation)) !== undefined;
  }

  /** Whether no other question followed in the conversation. */
  isNewest(claim: Claim): Promise<boolean> {
    return isNewest(this.#db, claim);
  }

  /** Adds a claim that replaces the newest one; false if another question or a second click came first. */
  async addRegeneration(id: string, of: Claim): Promise<boolean> {
    const { conversation, channel_id, guild_id, user_id } = of;
    const created_at = Date.now();
    return this.#db.transaction().execute(async (transaction) => {
      // this update locks the row, so that other processes wait
      const conversations = transaction.updateTable('discord_conversations').set({ updated_at: created_at });
      await conversations.where('id', '=', conversation).execute();
      if (!(await isNewest(transaction, of))) return false;
      const place = { conversation, channel_id, guild_id, user_id };
      const request = JSON.stringify({ of: of.id });
      const again = { id, ...place, kind: 'again' as const, state: 'queued' as const, request, created_at };
      await transaction
        .insertInto('discord_claims')
        .values({ ...again, replies: '[]' })
        .execute();
      return true;
    });
  }

  /** The checkpoints as of `until`: channels with recent questions, and direct messages of any age. */
  async checkpoints({ until, lastMs }: { until: number; lastMs: number }): Promise<Checkpoint[]> {
    const rows = await this.#db
      .selectFrom('discord_claims')
      .select(({ fn }) => ['channel_id as channelId', 'guild_id as guildId', fn.max('id').as('newest')])
      .where('created_at', '<=', until)
      .where(({ or, eb }) => or([eb('created_at', '>', until - lastMs), eb('guild_id', 'is', null)]))
      .where('kind', '=', 'message')
      .groupBy(['channel_id', 'guild_id', sql`length(id)`])
      .orderBy(sql`length(max(id)), max(id)`)
      .execute();
    const checkpoints = [...new Map(rows.map((row) => [row.channelId, row])).values()];
    const direct = checkpoints.filter(({ guildId }) => guildId === null);
    return [...checkpoints.filter(({ guildId }) => guildId !== null), ...direct.slice(-MAX_DIRECT)];
  }

  async deleteOld(): Promise<void> {
    await this.#db
      .deleteFrom('discord_claims')
      .where('created_at', '<', Date.now() - RETENTION_MS)
      .execute();
  }

  async #touch(conversation: string): Promise<number> {
    const updated_at = Date.now();
    await this.#db
      .insertInto('discord_conversations')
      .values({ id: conversation, updated_at })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ updated_at }))
      .execute();
    return updated_at;
  }

  async #set({ id, conversation }: Claim, values: Partial<Claim>): Promise<void> {
    await this.#ownership.whileOwner(conversation, (transaction) =>
      transaction.updateTable('discord_claims').set(values).where('id', '=', id).execute(),
    );
  }

  async #setIf(state: Claim['state'], id: string, values: Partial<Claim>): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('discord_claims')
      .set(values)
      .where('id', '=', id)
      .where('state', '=', state)
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }
}

export function replyIds(claim: Claim): string[] {
  return JSON.parse(claim.replies);
}

async function isNewest(db: BotDatabase, { id, conversation }: Claim): Promise<boolean> {
  const newest = await db
    .selectFrom('discord_claims')
    .select('id')
    .where('conversation', '=', conversation)
    .where('state', '!=', 'refused')
    .orderBy(sql`length(id) desc, id desc`)
    .limit(1)
    .executeTakeFirst();
  return newest?.id === id;
}
