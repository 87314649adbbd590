// The times of schedules: from the options of a command to cron, and from cron to words.
import { DiscordBotError } from '../base/errors.ts';

const weekdays = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
/** The days in cron, by what users choose. */
const days: Readonly<Record<string, string>> = {
  day: '* * *',
  weekday: '* * 1-5',
  ...Object.fromEntries(weekdays.map((name, index) => [name, `* * ${index}`])),
  month: '1 * *',
};
const HOUR = 'hour';
const DEFAULT_TIME = '09:00';
/** Once an hour at most: a number in the field of the minutes. */
const CRON = /^[0-5]?\d(?:\s+[\d*,/A-Za-z-]+){4}$/;

/** What users can choose, most used first. */
export const intervals = [HOUR, 'day', 'weekday', ...weekdays.slice(1), 'Sunday', 'month'];

export interface TypedTimes {
  every: string | null;
  at: string | null;
  cron: string | null;
}

export function cronOf({ every, at, cron }: TypedTimes): string {
  if (cron !== null) {
    if (every !== null || at !== null) throw refusal('Use `cron` alone, or `every` and `at`.');
    const typed = cron.trim().replace(/\s+/g, ' ');
    if (CRON.test(typed)) return typed;
    throw refusal(
      '`cron` needs five fields with one number for the minute, such as `0 9 * * 1-5`: at most once an hour.',
    );
  }
  if (every === null) throw refusal('Choose when with `every` and `at`, or with `cron`.');
  const [, hour, minute] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(at?.trim() ?? DEFAULT_TIME) ?? [];
  if (hour === undefined || minute === undefined) throw refusal('Write the time like 09:00 or 17:30.');
  return `${Number(minute)} ${every === HOUR ? '* * * *' : `${Number(hour)} ${days[every] ?? days.day}`}`;
}

export function zoneOf(typed: string | null): string {
  const zone = typed?.trim() || 'UTC';
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone;
  } catch {
    throw refusal(`\`${zone.replaceAll('`', "'").slice(0, 100)}\` is not a time zone. Write it like Europe/Berlin.`);
  }
}

export function timeZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone')];
}

export function timesText({ cron, timeZone }: { cron: string; timeZone: string }): string {
  const [minute = '', hour = '', ...rest] = cron.split(' ');
  const pad = (text: string) => text.padStart(2, '0');
  const day = Object.entries(days).find(([, fields]) => fields === rest.join(' '))?.[0];
  if (hour === '*' && day === 'day') return `every hour at minute ${Number(minute)}`;
  if (day === undefined || !/^\d+$/.test(hour)) return `at \`${cron}\` (${timeZone})`;
  return `every ${day === 'month' ? 'first day of the month' : day} at ${pad(hour)}:${pad(minute)} (${timeZone})`;
}

function refusal(reason: string): DiscordBotError {
  return new DiscordBotError('REFUSED', `${reason} Nothing was changed.`);
}
