// The tables of the bot, in SQLite and PostgreSQL. Messages are in the conversations of `@pocket-agent/store`.
import { errorText } from '@pocket-agent/kit';
import { type Conversations, conversationsIn, conversationTables, openStore, type Store } from '@pocket-agent/store';
import type { Generated, Selectable } from 'kysely';
import { DiscordBotError, networkError } from '../base/errors.ts';
import { DISCORD_SCOPE, migrations } from './migrations.ts';

interface BotSchema {
  discord_guilds: { guild_id: string; settings: string };
  discord_conversations: {
    id: string;
    /** The id of the process that owns it. */
    owner: string | null;
    model: string | null;
    /** The chosen folders and servers as a JSON list; null until a user chooses. */
    tools: string | null;
    summary: string | null;
    updated_at: number;
  };
  discord_claims: {
    /** The id of the Discord message or interaction with the question; for `scheduled` an id of its own. */
    id: string;
    kind: 'message' | 'ask' | 'again' | 'scheduled';
    conversation: string;
    channel_id: string;
    guild_id: string | null;
    user_id: string;
    /** `asked`: a command without an answer yet; `acting`: it runs and has called a tool. */
    state: 'asked' | 'queued' | 'running' | 'acting' | 'done' | 'refused';
    /** The ids of the messages that show the answer, as a JSON list. */
    replies: string;
    /** The question of `/ask` or of a schedule, or the claim that a regenerated answer replaces. */
    request: string | null;
    /** The run of a schedule that asked it. */
    run: Generated<string | null>;
    created_at: number;
  };
  /** Every bot that has used these tables. `schedules`: 1 if it has had some. */
  discord_bots: { id: string; schedules: Generated<number | null> };
  /** Logins of members at MCP servers of guilds. */
  discord_logins: { person: string; server: string; login: string };
  discord_processes: { id: string; host: string; pid: number; seen_at: number };
  discord_spending: { day: string; who: string; cost_usd: number; tokens: number; runs: number };
}

export type BotStore = Store<BotSchema>;
export type BotDatabase = BotStore['db'];
export type Claim = Selectable<BotSchema['discord_claims']>;

/** Conversations with their claims as turns. `db` may be a transaction. */
export function botConversations(store: Pick<BotStore, 'db' | 'kind'>): Conversations {
  return conversationsIn(store, { scope: DISCORD_SCOPE });
}

export interface DatabaseLocation {
  url?: string;
  file?: string;
}

export async function openBotStore({ url, file }: DatabaseLocation): Promise<BotStore> {
  try {
    return await openStore<BotSchema>({ url, file, name: 'discord', migrations, needs: [conversationTables] });
  } catch (cause) {
    // an unreachable server may come back; other errors need a change by the operator
    const code = url !== undefined && networkError(cause) !== undefined ? 'DATABASE_FAILED' : 'CONFIG_INVALID';
    const where = url === undefined ? 'POCKET_DISCORD_DB (database.file)' : 'DATABASE_URL (database.url)';
    throw new DiscordBotError(code, `${where}: ${errorText(cause)}`, { cause });
  }
}
