// Sorts messages by their snowflake id, because several can have the same timestamp.

export function oldestFirst<Item extends { id: string }>(messages: Iterable<Item>): Item[] {
  return [...messages].sort((a, b) => a.id.length - b.id.length || (a.id < b.id ? -1 : 1));
}
