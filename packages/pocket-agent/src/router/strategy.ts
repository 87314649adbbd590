// Which of the deployments that have room gets the next call.

export const strategyNames = [
  'weighted-shuffle',
  'least-busy',
  'lowest-latency',
  'lowest-cost',
  'usage-based',
] as const;

export type StrategyName = (typeof strategyNames)[number];

/** What a strategy may look at. */
export interface Candidate {
  weight: number;
  inFlight: number;
  /** Undefined until the first call has come back. */
  latencyMs: number | undefined;
  /** Of a million tokens in and a million out; undefined when nobody knows. */
  costUsd: number | undefined;
  /** The larger of the used shares of its limits, 0 to 1. */
  usedShare: number;
}

/** Picks one; ties go by weight and chance, so that equal deployments share the work. */
export function choose<Item extends Candidate>(
  strategy: StrategyName,
  candidates: readonly Item[],
  random: () => number,
): Item | undefined {
  const rank = ranks[strategy];
  let best: Item[] = [];
  let bestRank = Number.POSITIVE_INFINITY;
  for (const candidate of candidates) {
    const value = rank(candidate);
    if (value < bestRank) {
      best = [candidate];
      bestRank = value;
    } else if (value === bestRank) best.push(candidate);
  }
  return best.length > 1 ? byWeight(best, random) : best[0];
}

const unknownLast = Number.MAX_VALUE;

const ranks: Record<StrategyName, (candidate: Candidate) => number> = {
  'weighted-shuffle': () => 0,
  'least-busy': ({ inFlight }) => inFlight,
  // one that was never tried is tried first: there is no other way to learn its latency
  'lowest-latency': ({ latencyMs }) => latencyMs ?? 0,
  'lowest-cost': ({ costUsd }) => costUsd ?? unknownLast,
  'usage-based': ({ usedShare }) => usedShare,
};

function byWeight<Item extends Candidate>(candidates: readonly Item[], random: () => number): Item | undefined {
  const total = candidates.reduce((sum, { weight }) => sum + weight, 0);
  let point = random() * total;
  for (const candidate of candidates) {
    point -= candidate.weight;
    if (point < 0) return candidate;
  }
  return candidates.at(-1);
}
