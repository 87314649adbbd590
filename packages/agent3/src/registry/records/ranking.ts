// The ranking of agents.
//
//   score      = 0.55 · text + 0.45 · standing
//   text       = text rank (BM25, or ts_rank on PostgreSQL), relative to the best match;
//                with an embedding model 0.6 of this and 0.4 of the semantic similarity;
//                a word in the name counts 10, in a tag 6, in a skill 4, in the description 2, in an example 1
//   standing   = (0.45 · reputation + 0.27 · success + 0.13 · latency + 0.15 · price) · (1, or 0.5 if it is down)
//   reputation = (prior · 2 + Σ weight · rating) / (2 + Σ weight), scaled from 1..5 to 0..1
//   prior      = 3, or the mean rating of the owner's other agents on the same host if that is lower
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
// A new agent at the address of another one starts with its ratings, calls and latency, each if that is worse than none.
// All ratings age at the same rate, so the stored sums are relative to a fixed day and need no updates.

import { type Expression, sql } from 'kysely';
import type { Standing } from '../../base/agents.ts';

export interface TrackRecord {
  rating_count: number;
  rating_sum: number;
  rating_weight: number;
  calls: number;
  successes: number;
  latency: number | null;
  price_per_call: number | null;
  health: 'up' | 'down' | 'unknown';
  prior_rating: number | null;
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
  'prior_rating',
] as const satisfies readonly (keyof TrackRecord)[];

export const TEXT_SHARE = 0.55;
/** The parts of the standing. */
export const SHARES = { reputation: 0.45, success: 0.27, latency: 0.13, price: 0.15 } as const;
export const PRIOR_RATING = 3;
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
  prior_rating: null,
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
  return partsOf(record, now).standing;
}

/** The standing with its parts, each from 0 to 1. */
export function partsOf(record: TrackRecord, now: number): Standing {
  const { rating_sum, rating_weight, calls, successes, latency, price_per_call, health, prior_rating } = record;
  const aged = 1 / ageWeight(now);
  const prior = prior_rating ?? PRIOR_RATING;
  const rating = (prior * PRIOR_WEIGHT + rating_sum * aged) / (PRIOR_WEIGHT + rating_weight * aged);
  const reputation = (rating - 1) / 4;
  const success = (successes + 4) / (calls + 5);
  const speed = latency === null ? 0.5 : 1 / (1 + latency / 2_000);
  const price = price_per_call === null ? 0.5 : 1 / (1 + price_per_call / 0.05);
  const all = SHARES.reputation * reputation + SHARES.success * success + SHARES.latency * speed + SHARES.price * price;
  const isDown = health === 'down';
  return { standing: isDown ? all / 2 : all, reputation, success, latency: speed, price, isDown };
}

export function scoreOf(text: number, standing: number): number {
  return TEXT_SHARE * text + (1 - TEXT_SHARE) * standing;
}

/** SQL for the moving average of the latency after one more call. */
export function nextLatency(latency: Expression<number | null>, responseTime: number): Expression<number> {
  const time = sql`cast(${responseTime} as double precision)`;
  return sql`coalesce(${latency} + ${sql.lit(LATENCY_MEMORY)} * (${time} - ${latency}), ${time})`;
}
