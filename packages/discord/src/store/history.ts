// The conversations of the bot: their messages by claim, and what users chose for them.
import type { Turn, Turns } from '@pocket-agent/store';
import type { Message } from 'pocket-agent';
import { withoutOldImages } from './old-images.ts';
import type { ConversationOwnership } from './ownership.ts';
import { type BotStore, botConversations } from './schema.ts';

/** All messages of one question; `turn` is the id of its claim. */
export type QuestionTurn = Turn<Message>;

interface Preferences {
  model: string | null;
  tools: string[] | null;
  summary: string | null;
}

export class History {
  readonly #store: Pick<BotStore, 'db' | 'kind'>;
  readonly #ownership: ConversationOwnership;

  constructor(store: Pick<BotStore, 'db' | 'kind'>, ownership: ConversationOwnership) {
    this.#store = store;
    this.#ownership = ownership;
  }

  async append(conversation: string, turn: QuestionTurn): Promise<void> {
    await this.#whileOwner(conversation, (turns) => turns.append(conversation, turn));
  }

  async replace(conversation: string, turn: QuestionTurn): Promise<void> {
    await this.#whileOwner(conversation, (turns) => turns.replace(conversation, turn));
  }

  async remove(conversation: string, claims: readonly string[]): Promise<void> {
    if (claims.length === 0) return;
    await this.#whileOwner(conversation, (turns) => turns.remove(conversation, claims));
  }

  /** Oldest first. */
  turns(conversation: string): Promise<QuestionTurn[]> {
    return botConversations(this.#store).turns.list(conversation);
  }

  /** Replaces images over the limit by a note, and returns the turns. */
  async limitImages(conversation: string): Promise<QuestionTurn[]> {
    const turns = await this.turns(conversation);
    const limited = withoutOldImages(turns);
    const changed = limited.filter((turn, index) => turn !== turns[index]);
    for (const turn of changed) await this.replace(conversation, turn);
    return limited;
  }

  async turn(conversation: string, claim: string): Promise<Message[]> {
    const turns = await this.turns(conversation);
    return turns.flatMap(({ turn, messages }) => (turn === claim ? messages : []));
  }

  /** Also deletes the text of questions that are not messages. */
  async clear(conversation: string, { preferences = false } = {}): Promise<void> {
    const { db, kind } = this.#store;
    await db.transaction().execute(async (transaction) => {
      const cleared = preferences ? { summary: null, model: null, tools: null } : { summary: null };
      await transaction.updateTable('discord_conversations').set(cleared).where('id', '=', conversation).execute();
      await botConversations({ db: transaction, kind }).delete(conversation);
      const requests = transaction.updateTable('discord_claims').set({ request: null }).where('state', '=', 'done');
      await requests.where('conversation', '=', conversation).where('kind', 'in', ['ask', 'scheduled']).execute();
    });
  }

  async preferences(conversation: string): Promise<Preferences> {
    const row = await this.#store.db
      .selectFrom('discord_conversations')
      .select(['model', 'tools', 'summary'])
      .where('id', '=', conversation)
      .executeTakeFirst();
    const { model = null, tools = null, summary = null } = row ?? {};
    return { model, summary, tools: tools === null ? null : JSON.parse(tools) };
  }

  async setPreferences(conversation: string, { tools, ...rest }: Partial<Preferences>): Promise<void> {
    const set = { ...rest, ...(tools === undefined ? {} : { tools: tools && JSON.stringify(tools) }) };
    await this.#store.db
      .insertInto('discord_conversations')
      .values({ id: conversation, updated_at: Date.now(), ...set })
      .onConflict((conflict) => conflict.column('id').doUpdateSet(set))
      .execute();
  }

  /** Runs work in a transaction in which this process owns the conversation; throws if another one does. */
  #whileOwner(conversation: string, work: (turns: Turns) => Promise<void>): Promise<void> {
    const { kind } = this.#store;
    return this.#ownership.whileOwner(conversation, (db) => work(botConversations({ db, kind }).turns));
  }
}
