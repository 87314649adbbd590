// What time it is, somewhere.

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

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const two = '2-digit';
  const fields = { year: 'numeric', month: two, day: two, hour: two, minute: two, second: two } as const;
  try {
    return new Intl.DateTimeFormat('en-GB', { timeZone, weekday: 'long', hourCycle: 'h23', ...fields });
  } catch {
    throw new Error(`There is no time zone "${timeZone}". Use an IANA name such as Europe/Berlin, or UTC.`);
  }
}
