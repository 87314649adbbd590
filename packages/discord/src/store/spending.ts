// What each person and each guild has spent today (UTC), and whether anything is left.
import type { BotDatabase } from './schema.ts';

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

interface Budgets {
  guild: DailyBudget;
  /** The operator's. */
  own?: DailyBudget | undefined;
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

  /** What somebody has spent in one guild. */
  ofMember(guildId: string, userId: string): Promise<Spent> {
    return this.#of(`guild:${guildId}:user:${userId}`);
  }

  /** Dollars; undefined without a budget. A guild counts what is spent there, the operator what is spent anywhere. */
  async left({ userId, guildId }: Spender, { guild, own = {} }: Budgets): Promise<number | undefined> {
    const left: number[] = [];
    if (own.userUsd !== undefined) left.push(own.userUsd - (await this.ofUser(userId)).costUsd);
    if (guildId !== null) {
      const guildUsd = leastOf(guild.guildUsd, own.guildUsd);
      if (guild.userUsd !== undefined) left.push(guild.userUsd - (await this.ofMember(guildId, userId)).costUsd);
      if (guildUsd !== undefined) left.push(guildUsd - (await this.ofGuild(guildId)).costUsd);
    }
    return left.length > 0 ? Math.min(...left) : undefined;
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
export function leastOf(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.min(one, other ?? one);
}

function today(): string {
  return new Date().toISOString().slice(0, 10);
}

function keysOf({ userId, guildId }: Spender): string[] {
  if (guildId === null) return [`user:${userId}`];
  return [`user:${userId}`, `guild:${guildId}`, `guild:${guildId}:user:${userId}`];
}
