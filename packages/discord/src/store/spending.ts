// Spending per user and guild and day (UTC), and what is left of the budgets.
import type { BotDatabase } from './schema.ts';

/** Dollars per day (UTC) for a whole guild and for each user. */
export interface DailyBudget {
  guildUsd?: number | undefined;
  userUsd?: number | undefined;
}

export interface Spent {
  costUsd: number;
  tokens: number;
  runs: number;
}

export interface SpentDay extends Spent {
  day: string;
}

export interface Spender {
  userId: string;
  guildId: string | null;
}

interface Budgets {
  guild: DailyBudget;
  /** Set by the operator of the bot. */
  operator?: DailyBudget | undefined;
}

const DAY_MS = 24 * 3_600_000;

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

  /** Spending of a user in one guild. */
  ofMember(guildId: string, userId: string): Promise<Spent> {
    return this.#of(`guild:${guildId}:user:${userId}`);
  }

  /** The last days of a user or a guild, oldest first, today included; days without spending too. */
  async history(spender: { userId: string } | { guildId: string }, days: number): Promise<SpentDay[]> {
    const who = 'userId' in spender ? `user:${spender.userId}` : `guild:${spender.guildId}`;
    const dates = Array.from({ length: days }, (_, index) => dateOf(Date.now() - (days - 1 - index) * DAY_MS));
    const rows = await this.#db
      .selectFrom('discord_spending')
      .selectAll()
      .where('who', '=', who)
      .where('day', '>=', dates[0] ?? '')
      .execute();
    const byDay = new Map(rows.map((row) => [row.day, row]));
    return dates.map((day) => ({ day, ...spentOf(byDay.get(day)) }));
  }

  /** Dollars left; undefined without a budget. Guild budgets count spending in the guild, the operator's count all. */
  async remaining({ userId, guildId }: Spender, { guild, operator = {} }: Budgets): Promise<number | undefined> {
    const remaining: number[] = [];
    if (operator.userUsd !== undefined) remaining.push(operator.userUsd - (await this.ofUser(userId)).costUsd);
    if (guildId !== null) {
      const guildUsd = lowerLimit(guild.guildUsd, operator.guildUsd);
      if (guild.userUsd !== undefined) remaining.push(guild.userUsd - (await this.ofMember(guildId, userId)).costUsd);
      if (guildUsd !== undefined) remaining.push(guildUsd - (await this.ofGuild(guildId)).costUsd);
    }
    return remaining.length > 0 ? Math.min(...remaining) : undefined;
  }

  async #of(who: string): Promise<Spent> {
    const row = await this.#db
      .selectFrom('discord_spending')
      .selectAll()
      .where('day', '=', today())
      .where('who', '=', who)
      .executeTakeFirst();
    return spentOf(row);
  }
}

function spentOf(row: { cost_usd: number; tokens: number; runs: number } | undefined): Spent {
  return { costUsd: row?.cost_usd ?? 0, tokens: row?.tokens ?? 0, runs: row?.runs ?? 0 };
}

/** The lower limit: a guild can lower the operator's budget, not raise it. */
export function lowerLimit(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined ? other : Math.min(one, other ?? one);
}

function today(): string {
  return dateOf(Date.now());
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function keysOf({ userId, guildId }: Spender): string[] {
  if (guildId === null) return [`user:${userId}`];
  return [`user:${userId}`, `guild:${guildId}`, `guild:${guildId}:user:${userId}`];
}
