// Messages of conversations, one row each. Rows are added and removed by turn; only old images are replaced in place.
import type { Message } from 'pocket-agent';
import { ImageBudget } from './old-images.ts';
import type { ConversationOwnership } from './ownership.ts';
import type { BotDatabase } from './schema.ts';

/** All messages that one question led to. */
export interface Turn {
  claim: string;
  messages: Message[];
}

interface Preferences {
  model: string | null;
  tools: string[] | null;
  summary: string | null;
}

export class History {
  readonly #db: BotDatabase;
  readonly #ownership: ConversationOwnership;

  constructor(db: BotDatabase, ownership: ConversationOwnership) {
    this.#db = db;
    this.#ownership = ownership;
  }

  async append(conversation: string, { claim, messages }: Turn): Promise<void> {
    const rows = messages.map((message) => ({ conversation, claim, json: JSON.stringify(message) }));
    if (rows.length === 0) return;
    await this.#ownership.whileOwner(conversation, (db) => db.insertInto('discord_messages').values(rows).execute());
  }

  /** Replaces the messages of the newest turn. */
  async replace(conversation: string, { claim, messages }: Turn): Promise<void> {
    const rows = messages.map((message) => ({ conversation, claim, json: JSON.stringify(message) }));
    await this.#ownership.whileOwner(conversation, async (db) => {
      await db.deleteFrom('discord_messages').where('claim', '=', claim).execute();
      if (rows.length > 0) await db.insertInto('discord_messages').values(rows).execute();
    });
  }

  /** Oldest first. Images over the limit are replaced by a note, also in the database. */
  async turns(conversation: string): Promise<Turn[]> {
    const rows = await this.#db
      .selectFrom('discord_messages')
      .select(['id', 'claim', 'json'])
      .where('conversation', '=', conversation)
      .orderBy('id')
      .execute();
    const images = new ImageBudget();
    for (const row of rows.toReversed()) {
      const json = images.fit(row.json);
      if (json === row.json) continue;
      row.json = json;
      await this.#db.updateTable('discord_messages').set({ json }).where('id', '=', row.id).execute();
    }
    const turns: Turn[] = [];
    for (const { claim, json } of rows) {
      let turn = turns.at(-1);
      if (turn?.claim !== claim) {
        turn = { claim, messages: [] };
        turns.push(turn);
      }
      turn.messages.push(JSON.parse(json));
    }
    return turns;
  }

  async turn(claim: string): Promise<Message[]> {
    const rows = await this.#db
      .selectFrom('discord_messages')
      .select('json')
      .where('claim', '=', claim)
      .orderBy('id')
      .execute();
    return rows.map(({ json }) => JSON.parse(json));
  }

  async remove(conversation: string, claims: readonly string[]): Promise<void> {
    if (claims.length === 0) return;
    await this.#ownership.whileOwner(conversation, (db) =>
      db.deleteFrom('discord_messages').where('claim', 'in', claims).execute(),
    );
  }

  /** Also deletes the text of `/ask` questions. */
  async clear(conversation: string, { preferences = false } = {}): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('discord_messages').where('conversation', '=', conversation).execute();
      const cleared = preferences ? { summary: null, model: null, tools: null } : { summary: null };
      await transaction.updateTable('discord_conversations').set(cleared).where('id', '=', conversation).execute();
      const requests = transaction.updateTable('discord_claims').set({ request: null }).where('state', '=', 'done');
      await requests.where('conversation', '=', conversation).where('kind', '=', 'ask').execute();
    });
  }

  async preferences(conversation: string): Promise<Preferences> {
    const row = await this.#db
      .selectFrom('discord_conversations')
      .select(['model', 'tools', 'summary'])
      .where('id', '=', conversation)
      .executeTakeFirst();
    const { model = null, tools = null, summary = null } = row ?? {};
    return { model, summary, tools: tools === null ? null : JSON.parse(tools) };
  }

  async setPreferences(conversation: string, { tools, ...rest }: Partial<Preferences>): Promise<void> {
    const set = { ...rest, ...(tools === undefined ? {} : { tools: tools && JSON.stringify(tools) }) };
    await this.#db
      .insertInto('discord_conversations')
      .values({ id: conversation, updated_at: Date.now(), ...set })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(set))
      .execute();
  }
}
