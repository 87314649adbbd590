// Limits what is remembered of tools that are no longer listed: a server may rename its tools forever.

/** More than any reconnecting server needs. */
export const MAX_ABSENT_NAMES = 10_000;

interface Listed {
  readonly size: number;
  has(name: string): boolean;
}

/**
 * Drops the newest names that are not listed, beyond the limit: a server that keeps inventing names cannot push out
 * older names of other servers. Every listed name must be known.
 */
export function dropAbsent(known: Map<string, unknown>, listed: Listed): void {
  const excess = known.size - listed.size - MAX_ABSENT_NAMES;
  if (excess <= 0) return;
  const absent = [...known.keys()].filter((name) => !listed.has(name));
  for (const name of absent.slice(-excess)) known.delete(name);
}
