// The limits of callers: calls in a minute, calls on a day, and cost on a day. They are counted in the state, so all
// processes share them.
import { matchesName } from 'pocket-agent/internal';
import type { Caller } from './caller.ts';
import type { GatewayState } from './state.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
/** Sums are whole numbers. */
const PER_USD = 1_000_000;

/** What a call of each tool costs, by the name of the tool. */
export type Prices = Readonly<Record<string, number>>;

interface CountedCall {
  state: GatewayState;
  /** US dollars. */
  price: number;
}

/** Counts one call. Returns why it may not be made. */
export async function overLimit(
  { name, settings }: Caller,
  { state, price }: CountedCall,
): Promise<string | undefined> {
  const { callsPerMinute, callsPerDay, usdPerDay } = settings;
  const limits = [
    { most: callsPerMinute, ms: MINUTE_MS, unit: 'minute' },
    { most: callsPerDay, ms: DAY_MS, unit: 'day' },
  ];
  for (const { most, ms, unit } of limits) {
    if (most === undefined) continue;
    const { number, endsAt, seconds } = periodOf(ms);
    const period = `${unit} ${number}`;
    if ((await state.count({ caller: name, period, endsAt, amount: 1 })) <= most) continue;
    return `you have made ${most} calls in this ${unit}, your limit; try again in ${seconds} seconds`;
  }
  if (usdPerDay === undefined || price === 0) return undefined;
  const { number, endsAt, seconds } = periodOf(DAY_MS);
  const spent = { caller: name, period: `usd ${number}`, endsAt };
  const amount = Math.ceil(price * PER_USD);
  if ((await state.count({ ...spent, amount })) <= usdPerDay * PER_USD) return undefined;
  await state.count({ ...spent, amount: -amount }); // taken back: a cheaper call may still fit
  return `it costs $${price}, and your limit of $${usdPerDay} for this day does not allow it; try again in ${seconds} seconds`;
}

/** The first pattern that matches counts. A tool without a price costs nothing. */
export function priceOf(tool: string, prices: Prices): number {
  return Object.entries(prices).find(([pattern]) => matchesName(pattern, tool))?.[1] ?? 0;
}

function periodOf(ms: number) {
  const now = Date.now();
  const number = Math.floor(now / ms);
  const endsAt = (number + 1) * ms;
  return { number, endsAt, seconds: Math.ceil((endsAt - now) / 1_000) };
}
