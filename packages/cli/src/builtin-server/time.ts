// Tells the time in a zone and converts times between zones, including daylight saving time.
import { offsetMinutes, resolveTimeZone } from './time-zones.ts';

export type ZonedTime = {
  timeZone: string;
  date: string;
  time: string;
  weekday: string;
  utcOffset: string;
  iso: string;
};
export type ConvertedTime = { from: ZonedTime; to: ZonedTime; note?: string };

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

export function timeIn(timeZone: string | undefined, at = new Date()): ZonedTime {
  const zone = resolveTimeZone(timeZone);
  const offset = offsetMinutes(zone, at);
  const wall = new Date(at.getTime() + offset * MINUTE_MS);
  const [date = '', clock = ''] = wall.toISOString().split('T');
  const time = clock.slice(0, 8);
  const utcOffset = formatOffset(offset);
  const weekday = wall.toLocaleDateString('en-US', { weekday: 'long', timeZone: 'UTC' });
  return { timeZone: zone, date, time, weekday, utcOffset, iso: `${date}T${time}${utcOffset}` };
}

export function describeTime({ weekday, date, time, timeZone, utcOffset }: ZonedTime): string {
  return `${time} on ${weekday}, ${date} in ${timeZone} (UTC${utcOffset})`;
}

/**
 * `time` is a local time: `15:30`, `3:30 pm`, `noon`, or with a date `2026-03-29 15:30`; without a date, today in the
 * source zone. A time skipped by a clock change moves forward by the change; if a time occurs twice, the first is used.
 */
export function convertTime(
  request: { time: string; fromTimeZone: string; toTimeZone: string },
  now = new Date(),
): ConvertedTime {
  const fromZone = resolveTimeZone(request.fromTimeZone);
  const toZone = resolveTimeZone(request.toTimeZone);
  const { instant, note } = instantOf(parseWallTime(request.time, timeIn(fromZone, now).date), fromZone);
  const converted = { from: timeIn(fromZone, instant), to: timeIn(toZone, instant) };
  return note ? { ...converted, note } : converted;
}

export function describeConversion({ from, to, note }: ConvertedTime): string {
  const text = `${describeTime(from)} is ${describeTime(to)}.`;
  return note ? `${text} ${note}` : text;
}

/** The local time as if it were UTC, in milliseconds. */
function parseWallTime(text: string, today: string): number {
  const written = text.trim();
  const [, date = today, clock = ''] = /^(?:(\d{4}-\d\d-\d\d)(?:T|\s+))?(.+)$/i.exec(written) ?? [];
  const { hours, minutes, seconds } = parseClock(clock, written);
  const day = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(day.getTime()) || !day.toISOString().startsWith(date)) {
    throw new Error(`"${date}" in "${written}" is not a date in the calendar. Write it as YYYY-MM-DD.`);
  }
  return day.getTime() + ((hours * 60 + minutes) * 60 + seconds) * 1000;
}

function parseClock(clock: string, written: string): { hours: number; minutes: number; seconds: number } {
  const named = { noon: 12, midday: 12, midnight: 0 }[clock.toLowerCase()];
  if (named !== undefined) return { hours: named, minutes: 0, seconds: 0 };
  const match = /^(\d{1,2})(?:[:.](\d\d)(?::(\d\d))?)?\s*(?:([ap])\.?m?\.?)?$/i.exec(clock);
  const half = match?.[4]?.toLowerCase();
  const hours = Number(match?.[1] ?? Number.NaN);
  const minutes = Number(match?.[2] ?? 0);
  const seconds = Number(match?.[3] ?? 0);
  const hoursFit = half ? hours >= 1 && hours <= 12 : hours <= 23 && match?.[2] !== undefined;
  if (!match || !hoursFit || minutes > 59 || seconds > 59) {
    throw new Error(
      `Cannot read "${written}" as a time of day. Write 15:30, 3:30 pm or 2026-03-29 15:30, without a zone or offset.`,
    );
  }
  return { hours: half ? (hours % 12) + (half === 'p' ? 12 : 0) : hours, minutes, seconds };
}

function instantOf(wall: number, zone: string): { instant: Date; note?: string } {
  const before = offsetMinutes(zone, new Date(wall - DAY_MS));
  const after = offsetMinutes(zone, new Date(wall + DAY_MS));
  const candidates = [...new Set([before, after])]
    .map((offset) => ({ offset, instant: new Date(wall - offset * MINUTE_MS) }))
    .filter(({ offset, instant }) => offsetMinutes(zone, instant) === offset)
    .sort((left, right) => left.instant.getTime() - right.instant.getTime());
  const [first] = candidates;
  const clock = new Date(wall).toISOString().slice(11, 16);
  if (!first) {
    const instant = new Date(wall - before * MINUTE_MS);
    return { instant, note: `Note: ${clock} does not exist in ${zone} on that day because clocks go forward.` };
  }
  if (candidates.length === 1) return { instant: first.instant };
  return { instant: first.instant, note: `Note: ${clock} happens twice in ${zone} on that day; the first is used.` };
}

function formatOffset(minutes: number): string {
  const total = Math.floor(Math.abs(minutes));
  const pad = (value: number) => String(value).padStart(2, '0');
  return `${minutes < 0 ? '-' : '+'}${pad(Math.floor(total / 60))}:${pad(total % 60)}`;
}
