// The order of contenders in a round.

/**
 * Each round starts with a different contender and uses a different stride through the names, so that each contender has a
 * different predecessor in every round.
 */
export function orderOf(names: readonly string[], round: number): string[] {
  const count = names.length;
  const strides = names.flatMap((_, index) => [index + 1, count - index - 1]).filter((by) => divisor(by, count) === 1);
  const different = [...new Set(strides)];
  const stride = different[round % different.length] ?? 1;
  return names.map((_, index) => names[(round + index * stride) % count] as string);
}

function divisor(a: number, b: number): number {
  return b === 0 ? a : divisor(b, a % b);
}
