// Finds the IANA time zone for a city, a country, an abbreviation or an offset.
import { editDistance } from '@pocket-agent/kit';

const ALIASES: Record<string, string> = {
  'America/New_York':
    'nyc|new york city|boston|washington|washington dc|miami|atlanta|philadelphia|florida|et|edt|eastern|eastern time',
  'America/Chicago': 'houston|dallas|austin|texas|ct|cst|cdt|central|central time',
  'America/Denver': 'mt|mdt|mountain|mountain time',
  'America/Los_Angeles':
    'la|san francisco|sf|seattle|san diego|las vegas|silicon valley|california|pt|pst|pdt|pacific|pacific time',
  'Pacific/Honolulu': 'hawaii',
  'America/Toronto': 'montreal|ottawa',
  'America/Sao_Paulo': 'rio|rio de janeiro|brasilia',
  'America/Santiago': 'chile',
  'Europe/London': 'bst|edinburgh|manchester|cambridge|oxford',
  'Europe/Berlin': 'munich|hamburg|frankfurt|cologne|stuttgart|cest',
  'Europe/Madrid': 'spain|barcelona',
  'Europe/Lisbon': 'portugal|porto',
  'Europe/Rome': 'milan|naples|florence',
  'Europe/Zurich': 'geneva|basel|bern',
  'Europe/Paris': 'lyon|marseille|nice',
  'Europe/Moscow': 'st petersburg|saint petersburg|msk',
  'Asia/Shanghai': 'china|beijing|shenzhen|guangzhou',
  'Asia/Kolkata': 'mumbai|delhi|new delhi|bangalore|bengaluru|chennai|hyderabad|ist|india',
  'Asia/Tokyo': 'osaka|kyoto|jst',
  'Asia/Jerusalem': 'tel aviv',
  'Asia/Dubai': 'abu dhabi',
  'Asia/Ho_Chi_Minh': 'hanoi|ho chi minh city',
  'Asia/Karachi': 'islamabad|lahore',
  'Australia/Sydney': 'canberra|aest|aedt',
  'Pacific/Auckland': 'new zealand|wellington',
  UTC: 'z|zulu',
};
const COUNTRY_ALIASES: Record<string, string> = {
  GB: 'uk|england|scotland|wales|britain|great britain',
  US: 'us|usa|america',
  AE: 'uae|emirates',
  NL: 'holland',
  CZ: 'czech republic',
  KR: 'korea',
  TR: 'turkey',
};
const AREAS = ['Europe', 'America', 'Asia', 'Africa', 'Australia', 'Pacific', 'Atlantic', 'Indian'];

const plain = (name: string) =>
  name
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[\s_.-]+/g, ' ')
    .trim();
const cityOf = (zone: string) => plain(zone.slice(zone.lastIndexOf('/') + 1));

/** The IANA name (or `+05:30`) for a name; without one, the zone of this machine. */
export function resolveTimeZone(name: string | undefined): string {
  if (name === undefined || name.trim() === '') return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  const written = name.trim().replace(/\s+time$/i, '');
  const zone =
    findZone(written) ?? (written.includes(',') ? findZone(written.slice(0, written.indexOf(','))) : undefined);
  if (zone) return zone;
  const near = suggestions(plain(written));
  const hint = near.length > 0 ? ` Did you mean ${near.join(', ')}?` : '';
  throw new Error(`Unknown time zone "${name}".${hint} Use an IANA name such as Asia/Tokyo, or a large city.`);
}

/** The offset from UTC at that instant, in minutes. */
export function offsetMinutes(zone: string, at: Date): number {
  const parts = new Intl.DateTimeFormat('en-US', { timeZone: zone, timeZoneName: 'longOffset' }).formatToParts(at);
  const offset = parts.find((part) => part.type === 'timeZoneName')?.value ?? 'GMT';
  const [, sign, hours, minutes, seconds] = /([+-])(\d\d):(\d\d)(?::(\d\d))?/.exec(offset) ?? [];
  const total = Number(hours ?? 0) * 60 + Number(minutes ?? 0) + Number(seconds ?? 0) / 60;
  return sign === '-' ? -total : total;
}

function findZone(written: string): string | undefined {
  const wanted = plain(written);
  const offset = /^(?:utc|gmt)?\s*([+−-])\s*(\d{1,2})(?::?(\d\d))?$/i.exec(written);
  if (offset) {
    const [, sign, hours = '', minutes = '00'] = offset;
    return validZone(`${sign === '+' ? '+' : '-'}${hours.padStart(2, '0')}:${minutes}`);
  }
  return aliasOf(ALIASES, wanted) ?? validZone(written) ?? cityZone(wanted) ?? countryZone(written);
}

function aliasOf(aliases: Record<string, string>, wanted: string): string | undefined {
  return Object.keys(aliases).find((key) => aliases[key]?.split('|').includes(wanted));
}

function validZone(name: string): string | undefined {
  try {
    const zone = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone;
    // Intl may return an older name for "asia/kolkata"; a well-formed name is kept
    return /^[A-Z][A-Za-z]+\/[A-Z]/.test(name) ? name : zone;
  } catch {
    return undefined;
  }
}

function cityZone(wanted: string): string | undefined {
  const listed = Intl.supportedValuesOf('timeZone').find((zone) => cityOf(zone) === wanted);
  if (listed) return listed;
  // the list has one name per zone (Asia/Calcutta), but Intl also accepts the others (Asia/Kolkata)
  const title = wanted.replace(
    /(^| )(\p{L})/gu,
    (_, space: string, letter: string) => (space ? '_' : '') + letter.toUpperCase(),
  );
  return AREAS.map((area) => validZone(`${area}/${title}`)).find((zone) => zone !== undefined);
}

function countryZone(written: string): string | undefined {
  const wanted = plain(written);
  const code = aliasOf(COUNTRY_ALIASES, wanted) ?? countryCode(wanted);
  const zones = code ? zonesOfCountry(code) : [];
  const [first] = zones;
  if (!first) return undefined;
  const now = new Date();
  if (zones.every((zone) => offsetMinutes(zone, now) === offsetMinutes(first, now))) return first;
  const examples = zones.filter((zone) => zone.split('/').length === 2).slice(0, 12);
  throw new Error(`"${written}" has several time zones, such as ${examples.join(', ')}. Name one, or a city.`);
}

function countryCode(wanted: string): string | undefined {
  const names = new Intl.DisplayNames('en', { type: 'region', fallback: 'none' });
  const letters = [...'ABCDEFGHIJKLMNOPQRSTUVWXYZ'];
  const codes = letters.flatMap((first) => letters.map((second) => first + second));
  return codes.find((code) => plain(names.of(code) ?? '') === wanted);
}

function zonesOfCountry(code: string): string[] {
  // a method in newer engines, a property in older ones (Node 22)
  const locale = new Intl.Locale(`und-${code}`) as Intl.Locale & { getTimeZones?(): string[]; timeZones?: string[] };
  return locale.getTimeZones?.() ?? locale.timeZones ?? [];
}

function suggestions(wanted: string): string[] {
  const limit = Math.max(1, Math.floor(wanted.length / 3));
  return Intl.supportedValuesOf('timeZone')
    .map((zone) => ({
      zone,
      distance: wanted.length > 2 && cityOf(zone).includes(wanted) ? 0 : editDistance(wanted, cityOf(zone)),
    }))
    .filter((candidate) => candidate.distance <= limit)
    .sort((left, right) => left.distance - right.distance)
    .slice(0, 3)
    .map((candidate) => candidate.zone);
}
