// Did-you-mean suggestions.

/** Returns the closest known word, or undefined if none is close. */
export function nearest(word: string, known: readonly string[]): string | undefined {
  const far = Math.ceil(word.length / 4);
  const near = known.map((candidate) => ({ candidate, distance: distanceOf(word, candidate) }));
  near.sort((one, other) => one.distance - other.distance);
  return near[0] && near[0].distance <= far ? near[0].candidate : undefined;
}

/** Levenshtein distance. */
function distanceOf(one: string, other: string): number {
  let above = Array.from({ length: other.length + 1 }, (_, index) => index);
  for (const letter of one) {
    const row = [(above[0] ?? 0) + 1];
    for (let at = 1; at <= other.length; at++) {
      const same = (above[at - 1] ?? 0) + (letter === other[at - 1] ? 0 : 1);
      row.push(Math.min(same, (above[at] ?? 0) + 1, (row[at - 1] ?? 0) + 1));
    }
    above = row;
  }
  return above[other.length] ?? 0;
}
