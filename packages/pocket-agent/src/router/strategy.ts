// Strategies: which of the deployments with room gets the next call.

export const strategyNames = [
  'weighted-shuffle',
  'least-busy',
  'lowest-latency',
  'lowest-cost',
  'usage-based',
] as const;

/** How a router chooses between deployments that have room. */
export type StrategyName = (typeof strategyNames)[number];

/** The facts that strategies compare. */
export interface Candidate {
  weight: number;
  inFlight: number;
  /** Undefined before the first answer. */
  latencyMs: number | undefined;
  /** Price of a million input tokens plus a million output tokens; undefined if unknown. */
  costUsd: number | undefined;
  /** How much of its limits is used, 0 to 1: of requests or of tokens, whichever is more. */
  usedShare: number;
}

/** Picks the best candidate. Ties are decided by weighted chance, so that equal deployments share the work. */
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

const ranks: Record<StrategyName, (candidate: Candidate) => number> = {
  'weighted-shuffle': () => 0,
  'least-busy': ({ inFlight }) => inFlight,
  // an untried deployment comes first: its latency can only be measured by calling it
  'lowest-latency': ({ latencyMs }) => latencyMs ?? 0,
  'lowest-cost': ({ costUsd }) => costUsd ?? Number.MAX_VALUE,
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
