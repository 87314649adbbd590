// Who answers what: every message is claimed once, in one queue per conversation that all processes share.
import { sql } from 'kysely';
import { type Holdings, OPEN } from './ownership.ts';
import type { BotDatabase, Claim } from './schema.ts';

type NewClaim = Omit<Claim, 'state' | 'replies' | 'created_at'>;

/** Snowflakes are as old as they are long, then as they sort. */
const byAge = sql`length(id), id`;
const WAITING_MS = 3_600_000;
const KEPT_MS = 7 * 24 * 3_600_000;
/** Discord takes no first answer to a command after three seconds. */
const ASKED_MS = 10_000;
/** Direct messages that are looked through, those that were used last. */
const MOST_DIRECT = 100;

/** The newest message that was claimed in a channel: what came before it was seen. */
export interface Mark {
  channelId: string;
  guildId: string | null;
  newest: string;
}

export class Claims {
  readonly #db: BotDatabase;
  readonly #holdings: Holdings;

  constructor(db: BotDatabase, holdings: Holdings) {
    this.#db = db;
    this.#holdings = holdings;
  }

  /** False when somebody else was first. */
  async add(claim: NewClaim, state: Claim['state'] = 'queued'): Promise<boolean> {
    const now = Date.now();
    await this.#db
      .insertInto('discord_conversations')
      .values({ id: claim.conversation, updated_at: now })
      .onConflict((conflict) => conflict.column('id').doUpdateSet({ updated_at: now }))
      .execute();
    const { numInsertedOrUpdatedRows } = await this.#db
      .insertInto('discord_claims')
      .values({ ...claim, state, replies: '[]', created_at: now })
      .onConflict((conflict) => conflict.column('id').doNothing())
      .executeTakeFirstOrThrow();
    return (numInsertedOrUpdatedRows ?? 0n) > 0n;
  }

  /** A command that was `asked` gets its turn, with the message that shows its answer. */
  async enqueue(id: string, replies: readonly string[]): Promise<void> {
    await this.#setIf('asked', id, { state: 'queued', replies: JSON.stringify(replies) });
  }

  /** So do commands whose process went before it could say a word. */
  async enqueueLeft(): Promise<void> {
    await this.#db
      .updateTable('discord_claims')
      .set({ state: 'queued' })
      .where('state', '=', 'asked')
      .where('created_at', '<', Date.now() - ASKED_MS)
      .execute();
  }

  get(id: string): Promise<Claim | undefined> {
    return this.#db.selectFrom('discord_claims').selectAll().where('id', '=', id).executeTakeFirst();
  }

  /** How many questions of somebody, or of a guild, were taken and refused since then. */
  async countSince(
    whose: { userId: string } | { guildId: string },
    since: number,
  ): Promise<{ taken: number; refused: number }> {
    const query = this.#db.selectFrom('discord_claims').where('created_at', '>', since);
    const theirs =
      'userId' in whose ? query.where('user_id', '=', whose.userId) : query.where('guild_id', '=', whose.guildId);
    const { all, refused } = await theirs
      .select(({ fn, eb }) => [
        fn.countAll<number>().as('all'),
        fn.count<number>(eb.case().when('state', '=', 'refused').then(1).end()).as('refused'),
      ])
      .executeTakeFirstOrThrow();
    return { taken: all - refused, refused };
  }

  /** What nobody has answered for an hour is no longer waited for. */
  async countWaiting(userId: string): Promise<number> {
    const { count } = await this.#db
      .selectFrom('discord_claims')
      .where('user_id', '=', userId)
      .where('state', 'in', OPEN)
      .where('created_at', '>', Date.now() - WAITING_MS)
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    return count;
  }

  /** The oldest that has no answer yet; not `queued` when somebody had begun. */
  next(conversation: string): Promise<Claim | undefined> {
    return this.#db
      .selectFrom('discord_claims')
      .selectAll()
      .where('conversation', '=', conversation)
      .where('state', 'in', OPEN)
      .orderBy(byAge)
      .limit(1)
      .executeTakeFirst();
  }

  /** From here on no notice is added; the one it had, if any, is no answer and is returned. */
  async begin({ id, kind, conversation }: Claim): Promise<string[]> {
    return this.#holdings.during(conversation, async (transaction) => {
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

  /** From here on it has done something. Throws when another process has the conversation. */
  act(claim: Claim): Promise<void> {
    return this.#set(claim, { state: 'acting' });
  }

  finish(claim: Claim): Promise<void> {
    return this.#set(claim, { state: 'done' });
  }

  /** Whether it will never be begun: false when its turn has come, or it was ended, already. */
  async cancel(id: string): Promise<boolean> {
    return this.#setIf('queued', id, { state: 'done' });
  }

  /** False when its turn has come already. */
  async setNotice(id: string, notice: string): Promise<boolean> {
    return this.#setIf('queued', id, { replies: JSON.stringify([notice]) });
  }

  setReplies(claim: Claim, replies: readonly string[]): Promise<void> {
    return this.#set(claim, { replies: JSON.stringify(replies) });
  }

  async isBusy(conversation: string): Promise<boolean> {
    return (await this.next(conversation)) !== undefined;
  }

  /** Whether nobody has asked anything in the conversation after this. */
  isNewest(claim: Claim): Promise<boolean> {
    return isNewest(this.#db, claim);
  }

  /** A claim that replaces the newest one; false when somebody, or a second click, was faster. */
  async addAgain(id: string, of: Claim): Promise<boolean> {
    const { conversation, channel_id, guild_id, user_id } = of;
    const created_at = Date.now();
    return this.#db.transaction().execute(async (transaction) => {
      // whoever else wants to add here waits for this row
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

  /** Where somebody asked lately, and direct messages that are known, as they were at that time. */
  async marks({ until, lastMs }: { until: number; lastMs: number }): Promise<Mark[]> {
    const rows = await this.#db
      .selectFrom('discord_claims')
      .select(({ fn }) => ['channel_id as channelId', 'guild_id as guildId', fn.max('id').as('newest')])
      .where('created_at', '<=', until)
      .where(({ or, eb }) => or([eb('created_at', '>', until - lastMs), eb('guild_id', 'is', null)]))
      .where('kind', '=', 'message')
      .groupBy(['channel_id', 'guild_id', sql`length(id)`])
      .orderBy(sql`length(max(id)), max(id)`)
      .execute();
    const marks = [...new Map(rows.map((mark) => [mark.channelId, mark])).values()];
    const direct = marks.filter(({ guildId }) => guildId === null);
    return [...marks.filter(({ guildId }) => guildId !== null), ...direct.slice(-MOST_DIRECT)];
  }

  async forgetOld(): Promise<void> {
    await this.#db
      .deleteFrom('discord_claims')
      .where('created_at', '<', Date.now() - KEPT_MS)
      .execute();
  }

  async #set({ id, conversation }: Claim, values: Partial<Claim>): Promise<void> {
    await this.#holdings.during(conversation, (transaction) =>
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
