// Limits what is remembered of tools that are no longer listed: a server may rename its tools forever.

/** Far more than a server that comes and goes brings back. */
export const MOST_ABSENT_NAMES = 10_000;

interface Listed {
  readonly size: number;
  has(name: string): boolean;
}

/** Drops the oldest names that are not listed, beyond the limit. Every listed name must be known. */
export function dropAbsent(known: Map<string, unknown>, listed: Listed): void {
  let excess = known.size - listed.size - MOST_ABSENT_NAMES;
  if (excess <= 0) return;
  for (const name of known.keys()) {
    if (listed.has(name)) continue;
    known.delete(name);
    if (--excess === 0) return;
  }
}
