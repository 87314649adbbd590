// Helpers for plain objects.

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
