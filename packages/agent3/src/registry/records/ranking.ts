// The ranking of agents.
//
//   score      = 0.55 · text + 0.45 · standing
//   text       = text rank (BM25, or ts_rank on PostgreSQL), relative to the best match;
//                with an embedding model 0.6 of this and 0.4 of the semantic similarity;
//                a word in the name counts 10, in a tag 6, in a skill 4, in the description 2, in an example 1
//   standing   = (0.45 · reputation + 0.27 · success + 0.13 · latency + 0.15 · price) · (1, or 0.5 if it is down)
//   reputation = (3 · 2 + Σ weight · rating) / (2 + Σ weight), scaled from 1..5 to 0..1; new agents start at 3
//   success    = (successes + 4) / (calls + 5)
//   latency    = 1 / (1 + seconds / 2); 0.5 when unknown
//   price      = 1 / (1 + dollars per call / 0.05); 0.5 when unknown
//
// The weight of a rating:
//
//   weight     = age · rater · repetition
//   age        = halves every 180 days
//   rater      = 0.25 for a rater who has called one agent, up to 1 for four or more agents; for a userAgentId only its
//                own calls count
//   repetition = 1 / n for the n-th rating of the same agent by one rater
//
// Ratings by owners of their own agents do not count, unless the owner is the only user of the registry; nor do ratings
// by an agent (userAgentId) of itself or of another agent of its owner.
// All ratings age at the same rate, so the stored sums are relative to a fixed day and need no updates.

import { type Expression, sql } from 'kysely';

export interface TrackRecord {
  rating_count: number;
  rating_sum: number;
  rating_weight: number;
  calls: number;
  successes: number;
  latency: number | null;
  price_per_call: number | null;
  health: 'up' | 'down' | 'unknown';
}

export const trackRecordColumns = [
  'rating_count',
  'rating_sum',
  'rating_weight',
  'calls',
  'successes',
  'latency',
  'price_per_call',
  'health',
] as const satisfies readonly (keyof TrackRecord)[];

const TEXT_SHARE = 0.55;
const PRIOR_RATING = 3;
const PRIOR_WEIGHT = 2;
const HALF_LIFE_MS = 180 * 86_400_000;
const DAY_ZERO = Date.UTC(2026, 0, 1);
const LATENCY_MEMORY = 0.1;

export const NEW_RECORD: TrackRecord = {
  rating_count: 0,
  rating_sum: 0,
  rating_weight: 0,
  calls: 0,
  successes: 0,
  latency: null,
  price_per_call: null,
  health: 'unknown',
};

/** The weight of a rating given at `time`, relative to one given on day zero. */
export function ageWeight(time: number): number {
  return 2 ** ((time - DAY_ZERO) / HALF_LIFE_MS);
}

export function raterWeight({ agentsCalled, ratingsBefore }: { agentsCalled: number; ratingsBefore: number }): number {
  return Math.min(4, Math.max(1, agentsCalled)) / 4 / (ratingsBefore + 1);
}

export function reputationOf({ rating_count, rating_sum, rating_weight }: TrackRecord): number | undefined {
  return rating_count === 0 || rating_weight === 0 ? undefined : Math.round((rating_sum / rating_weight) * 100) / 100;
}

export function standingOf(record: TrackRecord, now: number): number {
  const { rating_sum, rating_weight, calls, successes, latency, price_per_call, health } = record;
  const aged = 1 / ageWeight(now);
  const rating = (PRIOR_RATING * PRIOR_WEIGHT + rating_sum * aged) / (PRIOR_WEIGHT + rating_weight * aged);
  const success = (successes + 4) / (calls + 5);
  const speed = latency === null ? 0.5 : 1 / (1 + latency / 2_000);
  const price = price_per_call === null ? 0.5 : 1 / (1 + price_per_call / 0.05);
  const all = 0.45 * ((rating - 1) / 4) + 0.27 * success + 0.13 * speed + 0.15 * price;
  return health === 'down' ? all / 2 : all;
}

export function scoreOf(text: number, standing: number): number {
  return TEXT_SHARE * text + (1 - TEXT_SHARE) * standing;
}

/** SQL for the moving average of the latency after one more call. */
export function nextLatency(latency: Expression<number | null>, responseTime: number): Expression<number> {
  const time = sql`cast(${responseTime} as double precision)`;
  return sql`coalesce(${latency} + ${sql.lit(LATENCY_MEMORY)} * (${time} - ${latency}), ${time})`;
}
