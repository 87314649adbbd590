// Messages in the order in which they were written; several can have the same time.

export function oldestFirst<Item extends { id: string }>(messages: Iterable<Item>): Item[] {
  return [...messages].sort((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1));
}
