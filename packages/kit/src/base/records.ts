// Helpers for plain objects, and for JSON of unknown shape.

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The keys whose value is not undefined. */
export function definedKeys(record: object | undefined): string[] {
  return Object.entries(record ?? {}).flatMap(([key, value]) => (value === undefined ? [] : [key]));
}

/** A copy without the keys whose value is undefined. */
export function withoutUndefined<Given extends object>(
  record: Given,
): { [Key in keyof Given]?: Exclude<Given[Key], undefined> } {
  const defined = Object.entries(record).filter(([, value]) => value !== undefined);
  return Object.fromEntries(defined) as { [Key in keyof Given]?: Exclude<Given[Key], undefined> };
}

/** The objects in a list; empty if the value is not a list. */
export function recordsIn(value: unknown): Record<string, unknown>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** The strings in a list; empty if the value is not a list. */
export function stringsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === 'string') : [];
}

/** The string; undefined for empty strings and other types. Protobuf writes absent strings as empty ones. */
export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined;
}
