// Chooses what to evict from memory of limited size.

/** Approximate memory of an object, or of one of its fields, without the value. */
const BYTES_PER_VALUE = 50;

/** Removes the oldest entry of a map or set that has more than `max`. */
export function dropOldest<Key>(entries: Map<Key, unknown> | Set<Key>, max: number): void {
  const [oldest] = entries.keys();
  if (entries.size > max && oldest !== undefined) entries.delete(oldest);
}

/**
 * The key of the entry to evict from memory shared by several owners: the owner that has the most loses its oldest entry.
 * Entries come oldest first. `weight` is 1 by default.
 */
export function fairEvictionKey<Key>(
  entries: Iterable<readonly [key: Key, owner: string, weight?: number]>,
): Key | undefined {
  const owners = new Map<string, { oldest: Key; weight: number }>();
  let largest: { oldest: Key; weight: number } | undefined;
  for (const [key, owner, weight = 1] of entries) {
    const found = owners.get(owner) ?? { oldest: key, weight: 0 };
    found.weight += weight;
    owners.set(owner, found);
    if (!largest || found.weight > largest.weight) largest = found;
  }
  return largest?.oldest;
}

/** Estimates the memory that plain JSON takes, in bytes. */
export function estimateBytes(value: unknown): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let bytes = BYTES_PER_VALUE;
  for (const [key, item] of Object.entries(value)) bytes += BYTES_PER_VALUE + key.length + estimateBytes(item);
  return bytes;
}
