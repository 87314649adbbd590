// Patterns of tool names, as in `allow`, `deny` and `exposure`.

/** `*` matches any characters. */
export function matchesName(pattern: string, name: string): boolean {
  return matchesPieces(pattern.split('*'), name);
}

/** Whether a text consists of these pieces, in this order, with any characters between them. */
export function matchesPieces([first = '', ...rest]: readonly string[], text: string): boolean {
  if (rest.length === 0) return text === first;
  if (!text.startsWith(first)) return false;
  let from = first.length;
  const last = rest.pop() ?? '';
  for (const piece of rest) {
    const found = text.indexOf(piece, from);
    if (found < 0) return false;
    from = found + piece.length;
  }
  return text.length - last.length >= from && text.endsWith(last);
}
