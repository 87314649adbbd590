// Patterns of tool names, as in `allow`, `deny` and `exposure`.

/** `*` matches any characters. */
export function matchesName(pattern: string, name: string): boolean {
  const [first = '', ...rest] = pattern.split('*');
  if (rest.length === 0) return pattern === name;
  if (!name.startsWith(first)) return false;
  let from = first.length;
  const last = rest.pop() ?? '';
  for (const piece of rest) {
    const found = name.indexOf(piece, from);
    if (found < 0) return false;
    from = found + piece.length;
  }
  return name.length - last.length >= from && name.endsWith(last);
}
