// What each person and each guild has spent today (UTC), and whether anything is left.
import type { BotDatabase } from '../store/schema.ts';

export interface DailyBudget {
  guildUsd?: number | undefined;
  userUsd?: number | undefined;
}

export interface Spent {
  costUsd: number;
  tokens: number;
  runs: number;
}

export interface Spender {
  userId: string;
  guildId: string | null;
}

export class Spending {
  readonly #db: BotDatabase;

  constructor(db: BotDatabase) {
    this.#db = db;
  }

  async add(spender: Spender, { costUsd, tokens, runs }: Spent): Promise<void> {
    const rows = keysOf(spender).map((who) => ({ day: today(), who, cost_usd: costUsd, tokens, runs }));
    await this.#db
      .insertInto('discord_spending')
      .values(rows)
      .onConflict((conflict) =>
        conflict.columns(['day', 'who']).doUpdateSet(({ eb, ref }) => ({
          cost_usd: eb('discord_spending.cost_usd', '+', ref('excluded.cost_usd')),
          tokens: eb('discord_spending.tokens', '+', ref('excluded.tokens')),
          runs: eb('discord_spending.runs', '+', ref('excluded.runs')),
        })),
      )
      .execute();
  }

  ofUser(userId: string): Promise<Spent> {
    return this.#of(`user:${userId}`);
  }

  ofGuild(guildId: string): Promise<Spent> {
    return this.#of(`guild:${guildId}`);
  }

  /** Dollars; undefined without a budget. */
  async left({ userId, guildId }: Spender, { guildUsd, userUsd }: DailyBudget): Promise<number | undefined> {
    const parts: number[] = [];
    if (userUsd !== undefined) parts.push(userUsd - (await this.ofUser(userId)).costUsd);
    if (guildUsd !== undefined && guildId !== null) parts.push(guildUsd - (await this.ofGuild(guildId)).costUsd);
    return parts.length > 0 ? Math.min(...parts) : undefined;
  }

  async #of(who: string): Promise<Spent> {
    const row = await this.#db
      .selectFrom('discord_spending')
      .selectAll()
      .where('day', '=', today())
      .where('who', '=', who)
      .executeTakeFirst();
    return { costUsd: row?.cost_usd ?? 0, tokens: row?.tokens ?? 0, runs: row?.runs ?? 0 };
  }
}

/** A guild can set less than the operator, not more. */
export function leastBudget(guild: DailyBudget, own: DailyBudget = {}): DailyBudget {
  const least = (one?: number, other?: number) => (one === undefined ? other : Math.min(one, other ?? one));
  return { guildUsd: least(guild.guildUsd, own.guildUsd), userUsd: least(guild.userUsd, own.userUsd) };
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function keysOf({ userId, guildId }: Spender): string[] {
  return guildId === null ? [`user:${userId}`] : [`user:${userId}`, `guild:${guildId}`];
}
