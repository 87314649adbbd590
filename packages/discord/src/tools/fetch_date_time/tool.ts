// What time it is, somewhere.
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

function formatIn(place: string): Intl.DateTimeFormat {
  const name = place.trim().replaceAll(' ', '_');
  const format =
    formatOf(name) ?? areas().reduce<Format>((found, area) => found ?? formatOf(`${area}/${name}`), undefined);
  if (format) return format;
  throw new PocketError(
    'TOOL_FAILED',
    `There is no time zone "${place}". Use an IANA name such as Europe/Berlin, its last part such as Berlin, or UTC.`,
  );
}

type Format = Intl.DateTimeFormat | undefined;

/** In any case; undefined when there is no such zone. */
function formatOf(timeZone: string): Format {
  const two = '2-digit';
  const fields = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long', hourCycle: 'h23', ...fields });
  } catch {
    return undefined;
  }
}

/** All that stands before a city; which cities there are Intl does not list in full. */
function areas(): string[] {
  const zones = Intl.supportedValuesOf('timeZone').filter((zone) => zone.includes('/'));
  return [...new Set(zones.map((zone) => zone.slice(0, zone.lastIndexOf('/'))))];
}
