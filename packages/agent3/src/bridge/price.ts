// What a call costs by the declared price, and how much may be spent in a day.
import type { Price } from '../types.ts';
import { CallFailure } from './failure.ts';

export interface BudgetLimits {
  /** US dollars in a day (UTC), of all callers together. */
  perDay?: number;
  /** The same, of each caller. */
  perCallerPerDay?: number;
}

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

/** The most a call can cost; undefined when that cannot be said. */
function mostOf(price: Price | undefined, timeoutMs: number): number | undefined {
  return costOf(price, { ms: timeoutMs, tokens: undefined });
}

export function checkMaxCost(
  price: Price | undefined,
  { maxCost, timeoutMs }: { maxCost?: number; timeoutMs: number },
): void {
  if (maxCost === undefined) return;
  const most = mostOf(price, timeoutMs);
  if (most === undefined)
    throw new CallFailure(
      'BUDGET',
      'what a call costs cannot be said beforehand. Call it without maxCost, or another agent.',
    );
  if (most > maxCost)
    throw new CallFailure(
      'BUDGET',
      `a call can cost $${most}, more than maxCost $${maxCost}. Allow more, or a shorter timeout.`,
    );
}

export class Budget {
  readonly #limits: BudgetLimits;
  readonly #now: () => number;
  readonly #spent = new Map<string, number>();
  #total = 0;
  #day = '';

  constructor(limits: BudgetLimits, now: () => number) {
    this.#limits = limits;
    this.#now = now;
  }

  /** Sets the most a call can cost aside; whoever gets the function tells what it did cost. */
  reserve(caller: string, price: Price | undefined, timeoutMs: number): (cost: number | undefined) => void {
    const { perDay, perCallerPerDay } = this.#limits;
    if (perDay === undefined && perCallerPerDay === undefined) return () => {};
    if (price && !isInDollars(price))
      throw new CallFailure('BUDGET', 'its price is not in US dollars, which the budget counts.');
    this.#turnDay();
    const day = this.#day;
    const most = mostOf(price, timeoutMs) ?? 0;
    const isPaid = [price?.perCall, price?.perMinute, price?.perToken].some((amount) => (amount ?? 0) > 0);
    const isOver = (spent: number, limit: number | undefined) =>
      limit !== undefined && isPaid && (spent + most > limit || (most === 0 && spent >= limit));
    if (isOver(this.#total, perDay)) throw spentUp('The budget', perDay);
    if (isOver(this.#spent.get(caller) ?? 0, perCallerPerDay)) throw spentUp('Your budget', perCallerPerDay);
    this.#add(caller, most);
    return (cost) => {
      if (this.#day === day) this.#add(caller, (cost ?? most) - most);
    };
  }

  #add(caller: string, amount: number): void {
    if (amount === 0) return;
    this.#total += amount;
    this.#spent.set(caller, (this.#spent.get(caller) ?? 0) + amount);
  }

  #turnDay(): void {
    const day = new Date(this.#now()).toISOString().slice(0, 10);
    if (day === this.#day) return;
    this.#day = day;
    this.#total = 0;
    this.#spent.clear();
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
