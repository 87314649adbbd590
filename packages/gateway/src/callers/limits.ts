// The limits of callers: calls in a minute and on a day. They are counted in the state, so all processes share them.
import type { Caller } from './caller.ts';
import type { GatewayState } from './state.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Counts one call. Returns why it may not be made. */
export async function overLimit({ name, settings }: Caller, state: GatewayState): Promise<string | undefined> {
  const { callsPerMinute, callsPerDay } = settings;
  const limits = [
    { most: callsPerMinute, ms: MINUTE_MS, unit: 'minute' },
    { most: callsPerDay, ms: DAY_MS, unit: 'day' },
  ];
  for (const { most, ms, unit } of limits) {
    if (most === undefined) continue;
    const now = Date.now();
    const number = Math.floor(now / ms);
    const endsAt = (number + 1) * ms;
    if ((await state.count(name, `${unit} ${number}`, endsAt)) <= most) continue;
    const seconds = Math.ceil((endsAt - now) / 1_000);
    return `you have made ${most} calls in this ${unit}, your limit; try again in ${seconds} seconds`;
  }
  return undefined;
}
