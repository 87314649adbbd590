// What a call costs by the declared price, and how much may be spent in a day.

import { CallFailure } from '../base/call-failure.ts';
import { canonicalJson } from '../base/canonical-json.ts';
import { isPaid, priceText } from '../base/price-text.ts';
import type { BudgetLimits, Budgets, Directory, Price } from '../base/types.ts';

/** Keeps 0.3 / 0.1 from being 2 tokens. */
const ROUNDING = 1e-6;

interface Measured {
  ms: number;
  tokens: number | undefined;
}

/** US dollars; undefined when the price is unknown, not in dollars, or by tokens nobody counted. */
export function costOf(price: Price | undefined, { ms, tokens }: Measured): number | undefined {
  const { perCall, perMinute, perToken } = price ?? {};
  if (!price || !isInDollars(price) || (perCall ?? perMinute ?? perToken) === undefined) return undefined;
  if (perToken && tokens === undefined) return undefined;
  const cost = (perCall ?? 0) + ((perMinute ?? 0) * ms) / 60_000 + (perToken ?? 0) * (tokens ?? 0);
  return Math.round(cost * 1e9) / 1e9;
}

export interface CostLimit {
  /** US dollars. */
  maxCost?: number | undefined;
  timeoutMs: number;
}

/** The most a call can cost; undefined when that is unknown. A call charged by the token is stopped at `maxCost`. */
export function mostOf(price: Price | undefined, { maxCost, timeoutMs }: CostLimit): number | undefined {
  const most = costOf(price, { ms: timeoutMs, tokens: price?.perToken ? 0 : undefined });
  return most !== undefined && price?.perToken ? maxCost : most;
}

/** A call charged by the token is covered by any limit above what it costs anyway, since it is stopped there. */
export function isCovered(price: Price, { maxCost = 0, timeoutMs }: CostLimit): boolean {
  const most = costOf(price, { ms: timeoutMs, tokens: 0 });
  return most !== undefined && most <= maxCost && maxCost > 0;
}

/** How many tokens `maxCost` pays for, beside what the call costs anyway. */
export function tokenLimitOf(price: Price | undefined, { maxCost, timeoutMs }: CostLimit): number | undefined {
  if (!price?.perToken || maxCost === undefined) return undefined;
  const rest = maxCost - (costOf(price, { ms: timeoutMs, tokens: 0 }) ?? 0);
  return Math.floor(rest / price.perToken + ROUNDING);
}

/** A price that was agreed to holds in each of its parts. */
export function checkAgreedPrice(price: Price | undefined, agreed: Price | undefined): void {
  if (!agreed || !isPaid(price)) return;
  const isWithin = (part: 'perCall' | 'perMinute' | 'perToken') => (price[part] ?? 0) <= (agreed[part] ?? 0);
  const isSameMoney = price.currency.toUpperCase() === agreed.currency.toUpperCase();
  if (isSameMoney && isWithin('perCall') && isWithin('perMinute') && isWithin('perToken')) return;
  // the bound that a client has by itself is free, whatever the caller says
  const wayOut = isPaid(agreed) ? 'with its price as agreedPrice' : 'so that a person can agree to it';
  throw new CallFailure(
    'BUDGET',
    `its price is ${priceText(price)}, and what was agreed to is ${priceText(agreed)}. Call it again ${wayOut}.`,
  );
}

/** What was agreed to and set aside is the price that a call began with. */
export function checkSamePrice(before: Price | undefined, now: Price | undefined): void {
  if (canonicalJson(before ?? null) === canonicalJson(now ?? null)) return;
  throw new CallFailure('BUDGET', 'its price changed during the call. Call it again.');
}

export function checkMaxCost(
  price: Price | undefined,
  { maxCost, timeoutMs, inputTokens }: CostLimit & { inputTokens: number },
): void {
  if (maxCost === undefined || (maxCost === 0 && !isPaid(price))) return;
  const most = costOf(price, { ms: timeoutMs, tokens: price?.perToken ? inputTokens : undefined });
  if (most === undefined)
    throw new CallFailure(
      'BUDGET',
      'it declares no price in US dollars, so maxCost cannot be kept. Call it without maxCost, or another agent.',
    );
  if (most > maxCost)
    throw new CallFailure(
      'BUDGET',
      `a call can cost $${most}, more than maxCost $${maxCost}. Allow more, or a shorter timeout.`,
    );
}

interface BudgetOptions {
  limits: Budgets;
  /** Where it is counted: by all hubs of one database together. */
  directory: Pick<Directory, 'spend'>;
  now(): number;
}

export class Budget {
  readonly #options: BudgetOptions;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  isLimited(caller: string): boolean {
    const { perDay, perCallerPerDay } = this.#limitsOf(caller);
    return perDay !== undefined || perCallerPerDay !== undefined;
  }

  /**
   * Reserves the most a call can cost. The returned function releases what it did not cost. An agent that reports more
   * usage than was agreed to cannot use up the budget: the call counts with the amount that was reserved.
   */
  async reserve(
    caller: string,
    price: Price | undefined,
    limit: CostLimit,
  ): Promise<(cost: number | undefined) => Promise<void> | void> {
    const { directory, now } = this.#options;
    const limits = this.#limitsOf(caller);
    if (!this.isLimited(caller)) return () => {};
    if (price && !isInDollars(price))
      throw new CallFailure('BUDGET', 'its price is not in US dollars, which the budget counts. Call another agent.');
    if (!isPaid(price)) return () => {};
    const day = new Date(now()).toISOString().slice(0, 10);
    const most = mostOf(price, limit);
    if (most === undefined)
      throw new CallFailure(
        'BUDGET',
        'it charges by the token, so a call has no upper bound, which the budget needs. Call it with maxCost, in US dollars.',
      );
    const exceeded = await directory.spend({ day, caller, amount: most, limits });
    if (exceeded === 'perDay') throw spentUp('The budget', limits.perDay);
    if (exceeded === 'perCallerPerDay') throw spentUp('Your budget', limits.perCallerPerDay);
    return async (cost = most) => {
      if (cost < most) await directory.spend({ day, caller, amount: cost - most });
    };
  }

  #limitsOf(caller: string): BudgetLimits {
    const { byCaller, perCallerPerDay, ...limits } = this.#options.limits;
    return { ...limits, perCallerPerDay: byCaller?.get(caller) ?? perCallerPerDay };
  }
}

function isInDollars({ currency }: Price): boolean {
  return currency.toUpperCase() === 'USD';
}

function spentUp(what: string, limit: number | undefined): CallFailure {
  return new CallFailure(
    'BUDGET',
    `${what} of $${limit} a day does not allow this call. Wait for tomorrow (UTC), or raise it.`,
  );
}
