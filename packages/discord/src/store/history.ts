// What was said in a conversation, one row per message. Rows are added, and removed turn by turn; only old pictures leave them.
import type { Message } from 'pocket-agent';
import { PictureRoom } from './old-images.ts';
import type { Holdings } from './ownership.ts';
import type { BotDatabase } from './schema.ts';

/** All that one question led to. */
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
  readonly #holdings: Holdings;

  constructor(db: BotDatabase, holdings: Holdings) {
    this.#db = db;
    this.#holdings = holdings;
  }

  async append(conversation: string, { claim, messages }: Turn): Promise<void> {
    const rows = messages.map((message) => ({ conversation, claim, json: JSON.stringify(message) }));
    if (rows.length === 0) return;
    await this.#holdings.during(conversation, (db) => db.insertInto('discord_messages').values(rows).execute());
  }

  /** The newest turn of a conversation is another one from now on. */
  async replace(conversation: string, { claim, messages }: Turn): Promise<void> {
    const rows = messages.map((message) => ({ conversation, claim, json: JSON.stringify(message) }));
    await this.#holdings.during(conversation, async (db) => {
      await db.deleteFrom('discord_messages').where('claim', '=', claim).execute();
      if (rows.length > 0) await db.insertInto('discord_messages').values(rows).execute();
    });
  }

  /** The oldest first. Of pictures that became too many only a note is left, from now on. */
  async turns(conversation: string): Promise<Turn[]> {
    const rows = await this.#db
      .selectFrom('discord_messages')
      .select(['id', 'claim', 'json'])
      .where('conversation', '=', conversation)
      .orderBy('id')
      .execute();
    const pictures = new PictureRoom();
    for (const row of rows.toReversed()) {
      const json = pictures.fitted(row.json);
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
    await this.#holdings.during(conversation, (db) =>
      db.deleteFrom('discord_messages').where('claim', 'in', claims).execute(),
    );
  }

  /** Also what `/ask` asked there. */
  async clear(conversation: string, { preferences = false } = {}): Promise<void> {
    await this.#db.transaction().execute(async (transaction) => {
      await transaction.deleteFrom('discord_messages').where('conversation', '=', conversation).execute();
      const forgotten = preferences ? { summary: null, model: null, tools: null } : { summary: null };
      await transaction.updateTable('discord_conversations').set(forgotten).where('id', '=', conversation).execute();
      const asked = transaction.updateTable('discord_claims').set({ request: null }).where('state', '=', 'done');
      await asked.where('conversation', '=', conversation).where('kind', '=', 'ask').execute();
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

  async prefer(conversation: string, { tools, ...rest }: Partial<Preferences>): Promise<void> {
    const set = { ...rest, ...(tools === undefined ? {} : { tools: tools && JSON.stringify(tools) }) };
    await this.#db
      .insertInto('discord_conversations')
      .values({ id: conversation, updated_at: Date.now(), ...set })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(set))
      .execute();
  }
}
