// Returns the current date and time in a time zone.
import { PocketError } from 'pocket-agent';

export class Tools {
  async tool_fetch_date_time({ timezone }: { timezone: string }) {
    const now = new Date();
    const format = formatIn(timezone);
    const parts = Object.fromEntries(format.formatToParts(now).map(({ type, value }) => [type, value]));
    return {
      date: `${parts.year}-${parts.month}-${parts.day}`,
      time: `${parts.hour}:${parts.minute}:${parts.second}`,
      weekday: parts.weekday,
      timezone: format.resolvedOptions().timeZone,
      iso: now.toISOString(),
    };
  }
}

function formatIn(name: string): Intl.DateTimeFormat {
  const id = name.trim().replaceAll(' ', '_');
  const format = formatOf(id) ?? areas().reduce<Format>((found, area) => found ?? formatOf(`${area}/${id}`), undefined);
  if (format) return format;
  throw new PocketError(
    'TOOL_FAILED',
    `Unknown time zone "${name}". Use an IANA name such as Europe/Berlin, its last part such as Berlin, or UTC.`,
  );
}

type Format = Intl.DateTimeFormat | undefined;

/** Ignores case; undefined for an unknown time zone. */
function formatOf(timeZone: string): Format {
  const two = '2-digit';
  const fields = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long', hourCycle: 'h23', ...fields });
  } catch {
    return undefined;
  }
}

/** The areas of all time zones. Intl does not list every city, so a city is tried in each area. */
function areas(): string[] {
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'));
  return [...new Set(zones.map((zone) => zone.slice(0, zone.lastIndexOf('/'))))];
}
