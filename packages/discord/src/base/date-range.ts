// Converts typed dates to a range of message ids.
import { SnowflakeUtil } from 'discord.js';
import { DiscordBotError } from './errors.ts';

const DAY_MS = 24 * 3_600_000;

interface TypedDates {
  after: string | null;
  before: string | null;
  around: string | null;
}

interface DateRange {
  /** Discord accepts only one of them. */
  bound: { after?: string; around?: string; before?: string };
  /** Messages at or after this time are excluded. */
  end: number;
}

export function dateRange({ after, before, around }: TypedDates): DateRange {
  if (around !== null && (after !== null || before !== null)) {
    throw new DiscordBotError('REFUSED', 'Use around_date alone, or after_date and before_date.');
  }
  if (around !== null) return { bound: { around: idAt(startOf(around) + DAY_MS / 2) }, end: Number.POSITIVE_INFINITY };
  const end = before === null ? Number.POSITIVE_INFINITY : startOf(before);
  if (after === null) return { bound: before === null ? {} : { before: idAt(end) }, end };
  const start = startOf(after);
  if (start >= end) throw new DiscordBotError('REFUSED', 'after_date must be earlier than before_date.');
  return { bound: { after: idAt(start - 1) }, end };
}

/** Accepts 2026-03-31 and 03/31/2026. */
function startOf(typed: string): number {
  const day = typed.trim().replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$1-$2');
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // Date.parse turns the 31st of a short month into a day of the next
  const isReal = !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
  if (!isReal || time < SnowflakeUtil.epoch) {
    throw new DiscordBotError('REFUSED', `\`${typed.replaceAll('`', "'")}\` is not a date. Write it like 2026-03-31.`);
  }
  return time;
}

function idAt(timestamp: number): string {
  return SnowflakeUtil.generate({ timestamp, workerId: 0n, processId: 0n, increment: 0n }).toString();
}
