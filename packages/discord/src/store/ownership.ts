// Which process works on which conversation. One that stalls for longer than its lease loses what it held.
import { DiscordBotError } from '../base/errors.ts';
import type { BotDatabase, Claim } from './schema.ts';

export const OPEN: readonly Claim['state'][] = ['queued', 'running', 'acting'];

export class Holdings {
  readonly #db: BotDatabase;
  readonly #process: string;

  constructor(db: BotDatabase, process: string) {
    this.#db = db;
    this.#process = process;
  }

  /** Whether this process now works on a conversation on which no other does. */
  async take(conversation: string): Promise<boolean> {
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

  /** Whether nothing is left to do in a conversation, which is then free for any process. */
  async release(conversation: string): Promise<boolean> {
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
              .where('discord_claims.state', 'in', OPEN),
          ),
        ),
      )
      .executeTakeFirstOrThrow();
    return numUpdatedRows > 0n;
  }

  /** Conversations with something to do that are ours, or of a process that is gone. */
  async abandoned(): Promise<Pick<Claim, 'conversation' | 'guild_id'>[]> {
    return this.#db
      .selectFrom('discord_claims')
      .where('state', 'in', OPEN)
      .innerJoin('discord_conversations', 'discord_conversations.id', 'discord_claims.conversation')
      .leftJoin('discord_processes', 'discord_processes.id', 'discord_conversations.owner')
      .where(({ or, eb }) =>
        or([eb('discord_processes.id', 'is', null), eb('discord_processes.id', '=', this.#process)]),
      )
      .select(['discord_claims.conversation', 'discord_claims.guild_id'])
      .distinct()
      .execute();
  }

  /** Of these conversations, those that this process still holds. */
  async among(conversations: readonly string[]): Promise<Set<string>> {
    if (conversations.length === 0) return new Set();
    const rows = await this.#db
      .selectFrom('discord_conversations')
      .select('id')
      .where('id', 'in', conversations)
      .where('owner', '=', this.#process)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  async has(conversation: string): Promise<boolean> {
    return (await this.among([conversation])).has(conversation);
  }

  /** Does something while nobody can take the conversation over; throws when somebody has. */
  async during<Result>(conversation: string, work: (db: BotDatabase) => Promise<Result>): Promise<Result> {
    return this.#db.transaction().execute(async (transaction) => {
      const { numUpdatedRows } = await transaction
        .updateTable('discord_conversations')
        .set({ updated_at: Date.now() })
        .where('id', '=', conversation)
        .where('owner', '=', this.#process)
        .executeTakeFirstOrThrow();
      if (numUpdatedRows === 0n) throw new DiscordBotError('GONE', 'Another process has taken this conversation over.');
      return work(transaction);
    });
  }
}
