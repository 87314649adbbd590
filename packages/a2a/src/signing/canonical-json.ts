// Canonical JSON (RFC 8785), and the canonical forms of agent cards.

/** Canonical JSON (RFC 8785): equal values give equal bytes for signatures and digests. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  // comparison by UTF-16 code units, as the RFC requires
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(',')}}`;
}

/** The value without empty strings, lists and objects: the form that the official SDKs sign. */
export function withoutEmpty(value: unknown): unknown {
  if (value === '' || value === null || value === undefined) return undefined;
  if (typeof value !== 'object') return value;
  if (Array.isArray(value)) {
    const items = value.map(withoutEmpty).filter((item) => item !== undefined);
    return items.length > 0 ? items : undefined;
  }
  const members = Object.entries(value)
    .map(([key, item]) => [key, withoutEmpty(item)] as const)
    .filter(([, item]) => item !== undefined);
  return members.length > 0 ? Object.fromEntries(members) : undefined;
}

/** Fields that a card always contains, even if they are empty. */
const requiredFields = new Set([
  'name',
  'description',
  'version',
  'supportedInterfaces',
  'defaultInputModes',
  'defaultOutputModes',
  'skills',
  'id',
  'tags',
  'url',
  'organization',
]);

/** The card without the fields that the specification leaves out of a signed card: empty ones that are not required. */
export function withoutDefaults<Card extends object>(card: Card): Card {
  return Object.fromEntries(
    Object.entries(card).flatMap(([key, value]) => {
      const isEmpty = value === '' || value === undefined || value === null || isEmptyList(value);
      if (isEmpty && (value == null || !requiredFields.has(key))) return [];
      return [[key, key === 'params' ? value : presentIn(value)]]; // params are JSON of the extension
    }),
  ) as Card;
}

function presentIn(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(presentIn);
  return typeof value === 'object' && value !== null ? withoutDefaults(value) : value;
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
