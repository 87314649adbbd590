// Days that somebody typed, as the part of a channel's history they mean.
import { SnowflakeUtil } from 'discord.js';
import { DiscordBotError } from '../base/errors.ts';

const DAY_MS = 24 * 3_600_000;

interface Days {
  after: string | null;
  before: string | null;
  around: string | null;
}

interface Span {
  /** For Discord, which takes only one of them. */
  bound: { after?: string; around?: string; before?: string };
  /** Messages from then on do not belong to it. */
  end: number;
}

export function spanOf({ after, before, around }: Days): Span {
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

/** 2026-03-31, or 03/31/2026 as some write it. */
function startOf(typed: string): number {
  const day = typed.trim().replace(/^(\d{2})\/(\d{2})\/(\d{4})$/, '$3-$1-$2');
  const time = /^\d{4}-\d{2}-\d{2}$/.test(day) ? Date.parse(`${day}T00:00:00Z`) : Number.NaN;
  // the 31st of a shorter month would be a day of the next one
  const isReal = !Number.isNaN(time) && new Date(time).toISOString().startsWith(day);
  if (!isReal || time < SnowflakeUtil.epoch) {
    throw new DiscordBotError('REFUSED', `\`${typed.replaceAll('`', "'")}\` is no day. It looks like 2026-03-31.`);
  }
  return time;
}

function idAt(timestamp: number): string {
  return SnowflakeUtil.generate({ timestamp, workerId: 0n, processId: 0n, increment: 0n }).toString();
}
