// The cost of calls by their declared price, and budgets per day.

import { canonicalJson } from '@pocket-agent/a2a/client';
import type { Allowance } from '../base/account.ts';
import type { Price } from '../base/agents.ts';
import { CallFailure } from '../base/call-failure.ts';
import { isPaid, priceText } from '../base/price-text.ts';
import type { BudgetLimits, Budgets, Directory } from './directory.ts';

/** Corrects rounding errors: 0.3 / 0.1 must be 3 tokens. */
const ROUNDING = 1e-6;

interface Measured {
  ms: number;
  tokens: number | undefined;
}

/** US dollars; undefined if the price is unknown, not in dollars, or per token without a token count. */
export function costOf(price: Price | undefined, { ms, tokens }: Measured): number | undefined {
  const { perCall, perMinute, perToken } = price ?? {};
  if (!price || !isInDollars(price) || (perCall ?? perMinute ?? perToken) === undefined) return undefined;
  if (perToken && tokens === undefined) return undefined;
  const cost = (perCall ?? 0) + ((perMinute ?? 0) * ms) / 60_000 + (perToken ?? 0) * (tokens ?? 0);
  return Math.round(cost * 1e9) / 1e9;
}

interface CostLimit {
  /** US dollars. */
  maxCost?: number | undefined;
  timeoutMs: number;
}

/** The maximum cost of a call; undefined if unknown. A call priced by the token stops at `maxCost`. */
export function maxCostOf(price: Price | undefined, { maxCost, timeoutMs }: CostLimit): number | undefined {
  const max = costOf(price, { ms: timeoutMs, tokens: price?.perToken ? 0 : undefined });
  return max !== undefined && price?.perToken ? maxCost : max;
}

/** Whether the limit covers a call. One priced by the token stops at the limit, so only its fixed cost must be covered. */
export function isCovered(price: Price, { maxCost = 0, timeoutMs }: CostLimit): boolean {
  const fixed = costOf(price, { ms: timeoutMs, tokens: 0 });
  return fixed !== undefined && fixed <= maxCost && maxCost > 0;
}

/** How many tokens `maxCost` pays for, after the fixed cost of the call. */
export function tokenLimitOf(price: Price | undefined, { maxCost, timeoutMs }: CostLimit): number | undefined {
  if (!price?.perToken || maxCost === undefined) return undefined;
  const rest = maxCost - (costOf(price, { ms: timeoutMs, tokens: 0 }) ?? 0);
  return Math.floor(rest / price.perToken + ROUNDING);
}

/** Throws if any part of the price is higher than agreed. */
export function checkAgreedPrice(price: Price | undefined, agreed: Price | undefined): void {
  if (!agreed || !isPaid(price)) return;
  const isWithin = (part: 'perCall' | 'perMinute' | 'perToken') => (price[part] ?? 0) <= (agreed[part] ?? 0);
  const isSameCurrency = price.currency.toUpperCase() === agreed.currency.toUpperCase();
  if (isSameCurrency && isWithin('perCall') && isWithin('perMinute') && isWithin('perToken')) return;
  // an MCP call without consent is limited to free agents, whatever its arguments say
  const advice = isPaid(agreed) ? 'with its price as agreedPrice' : 'so that a person can agree to it';
  throw new CallFailure(
    'BUDGET',
    `its price is ${priceText(price)}, and the agreed price is ${priceText(agreed)}. Call it again ${advice}.`,
  );
}

/** Consent and the reserved amount cover only the price at the start of the call. */
export function checkSamePrice(before: Price | undefined, now: Price | undefined): void {
  if (canonicalJson(before ?? null) === canonicalJson(now ?? null)) return;
  throw new CallFailure('BUDGET', 'its price changed during the call. Call it again.');
}

export function checkMaxCost(
  price: Price | undefined,
  { maxCost, timeoutMs, inputTokens }: CostLimit & { inputTokens: number },
): void {
  if (maxCost === undefined || (maxCost === 0 && !isPaid(price))) return;
  const max = costOf(price, { ms: timeoutMs, tokens: price?.perToken ? inputTokens : undefined });
  if (max === undefined)
    throw new CallFailure(
      'BUDGET',
      'it declares no price in US dollars, so maxCost cannot be enforced. Call it without maxCost, or call another agent.',
    );
  if (max > maxCost)
    throw new CallFailure(
      'BUDGET',
      `a call can cost $${max}, more than maxCost $${maxCost}. Use a higher maxCost or a shorter timeout.`,
    );
}

const DAY = ['day', 'tomorrow'] as const;
const MONTH = ['month', 'the next month'] as const;

/** Releases what the call did not cost. */
type Settle = (cost: number | undefined) => Promise<void> | void;

interface Terms {
  /** Whether any limit applies to the call. */
  isLimited: boolean;
  /**
   * Reserves the maximum cost of the call. The returned function releases the rest. An agent that reports more usage than
   * agreed cannot use up the budget: a call counts at most with the reserved amount.
   */
  reserve(limit: CostLimit): Promise<Settle>;
}

interface Reserving {
  caller: string;
  price: Price;
  agreed: Allowance;
  limits: BudgetLimits;
  limit: CostLimit;
}

interface BudgetOptions {
  limits: Budgets;
  /** Counts spending, for all hubs of one database together. */
  directory: Pick<Directory, 'spend' | 'allowance'>;
  now(): number;
}

export class Budget {
  readonly #options: BudgetOptions;

  constructor(options: BudgetOptions) {
    this.#options = options;
  }

  /** The limits that apply to a call at this price. */
  async termsOf(caller: string, price: Price | undefined): Promise<Terms> {
    if (!isPaid(price)) return { isLimited: false, reserve: async () => () => {} };
    const agreed = await this.#options.directory.allowance(caller);
    const limits = this.#limitsOf(caller, agreed);
    if (agreed.perCall === undefined && Object.values(limits).every((each) => each === undefined))
      return { isLimited: false, reserve: async () => () => {} };
    return { isLimited: true, reserve: (limit) => this.#reserve({ caller, price, agreed, limits, limit }) };
  }

  async #reserve({ caller, price, agreed, limits, limit }: Reserving): Promise<Settle> {
    const { directory, now } = this.#options;
    if (!isInDollars(price))
      throw new CallFailure(
        'BUDGET',
        'its price is not in US dollars, and the budget needs one that is. Call another agent.',
      );
    const max = maxCostOf(price, limit);
    if (max === undefined)
      throw new CallFailure(
        'BUDGET',
        'it charges by the token, so the cost of a call has no upper bound, and the budget needs one. Call it with maxCost, in US dollars.',
      );
    if (max > (agreed.perCall ?? max))
      throw new CallFailure(
        'BUDGET',
        `a call can cost $${max}, and you have agreed to $${agreed.perCall} per call. Raise your limit on the page /account, or with agent3 limits.`,
      );
    const time = now();
    const exceeded = await directory.spend({ time, caller, amount: max, limits });
    if (exceeded === 'perDay') throw budgetExceeded('The budget', limits.perDay, DAY);
    if (exceeded === 'perCallerPerDay') throw budgetExceeded('Your budget', limits.perCallerPerDay, DAY);
    if (exceeded) throw budgetExceeded('Your budget', limits.perCallerPerMonth, MONTH);
    return async (cost = max) => {
      if (cost < max) await directory.spend({ time, caller, amount: cost - max });
    };
  }

  /** The lower of what the operator allows and what the caller has agreed to. */
  #limitsOf(caller: string, { perDay, perMonth }: Allowance): BudgetLimits {
    const { byCaller, perCallerPerDay, ...limits } = this.#options.limits;
    const configured = byCaller?.get(caller) ?? perCallerPerDay;
    const days = [configured, perDay].filter((each) => each !== undefined);
    return {
      ...limits,
      ...(days.length > 0 ? { perCallerPerDay: Math.min(...days) } : {}),
      ...(perMonth === undefined ? {} : { perCallerPerMonth: perMonth }),
    };
  }
}

function isInDollars({ currency }: Price): boolean {
  return currency.toUpperCase() === 'USD';
}

function budgetExceeded(
  what: string,
  limit: number | undefined,
  [period, next]: readonly [string, string],
): CallFailure {
  return new CallFailure(
    'BUDGET',
    `${what} of $${limit} per ${period} does not allow this call. Wait until ${next} (UTC), or raise the budget.`,
  );
}
