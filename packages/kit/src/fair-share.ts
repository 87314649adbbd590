// Memory that strangers share: whoever fills it makes room with what is theirs, not with what belongs to others.

/** The oldest of those that belong to the owner who has the most. Entries come oldest first. */
export function oldestOfLargest<Key>(entries: Iterable<readonly [key: Key, owner: string]>): Key | undefined {
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
