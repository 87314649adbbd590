// Chooses what to evict from memory shared by several owners: the owner with the most entries loses its oldest one.

/** The key of the entry to evict. Entries come oldest first. */
export function fairEvictionKey<Key>(entries: Iterable<readonly [key: Key, owner: string]>): Key | undefined {
  const owners = new Map<string, { oldest: Key; count: number }>();
  let largest: { oldest: Key; count: number } | undefined;
  for (const [key, owner] of entries) {
    const found = owners.get(owner) ?? { oldest: key, count: 0 };
    found.count++;
    owners.set(owner, found);
    if (!largest || found.count > largest.count) largest = found;
  }
  return largest?.oldest;
}
