// Which process owns which conversation. A process that stalls for longer than its lease loses its conversations.
import { DiscordBotError } from '../base/errors.ts';
import type { BotDatabase, Claim } from './schema.ts';

export const OPEN_STATES: readonly Claim['state'][] = ['queued', 'running', 'acting'];

export class ConversationOwnership {
  readonly #db: BotDatabase;
  readonly #process: string;

  constructor(db: BotDatabase, process: string) {
    this.#db = db;
    this.#process = process;
  }

  /** Makes this process the owner, unless another running process is. */
  async acquire(conversation: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('discord_conversations')
      .set({ owner: this.#process })
      .where('id', '=', conversation)
      .where(({ or, eb, selectFrom, not }) =>
        or([
          eb('owner', 'is', null),
          eb('owner', '=', this.#process),
          not(eb('owner', 'in', selectFrom('discord_processes').select('discord_processes.id'))),
        ]),
      )
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** Releases a conversation. False if it has open claims or another owner. */
  async releaseIfIdle(conversation: string): Promise<boolean> {
    const { numUpdatedRows } = await this.#db
      .updateTable('discord_conversations')
      .set({ owner: null })
      .where('id', '=', conversation)
      .where('owner', '=', this.#process)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(
            selectFrom('discord_claims')
              .select('discord_claims.id')
              .where('discord_claims.conversation', '=', conversation)
              .where('discord_claims.state', 'in', OPEN_STATES),
          ),
        ),
      )
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** Conversations with open claims whose owner is this process or no longer runs. */
  async pending(): Promise<Pick<Claim, 'conversation' | 'guild_id'>[]> {
    return this.#db
      .selectFrom('discord_claims')
      .where('state', 'in', OPEN_STATES)
      .innerJoin('discord_conversations', 'discord_conversations.id', 'discord_claims.conversation')
      .leftJoin('discord_processes', 'discord_processes.id', 'discord_conversations.owner')
      .where(({ or, eb }) =>
        or([eb('discord_processes.id', 'is', null), eb('discord_processes.id', '=', this.#process)]),
      )
      .select(['discord_claims.conversation', 'discord_claims.guild_id'])
      .distinct()
      .execute();
  }

  /** Which of these conversations this process owns. */
  async owned(conversations: readonly string[]): Promise<Set<string>> {
    if (conversations.length === 0) return new Set();
    const rows = await this.#db
      .selectFrom('discord_conversations')
      .select('id')
      .where('id', 'in', conversations)
      .where('owner', '=', this.#process)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async isOwner(conversation: string): Promise<boolean> {
    return (await this.owned([conversation])).has(conversation);
  }

  /** Runs work in a transaction during which no other process can take over; throws if one has. */
  async whileOwner<Result>(conversation: string, work: (db: BotDatabase) => Promise<Result>): Promise<Result> {
    return this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('discord_conversations')
        .set({ updated_at: Date.now() })
        .where('id', '=', conversation)
        .where('owner', '=', this.#process)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw new DiscordBotError('GONE', 'Another process has taken over this conversation.');
      return work(transaction);
    });
  }
}
