// The rate limit of Mattermost: a leaky bucket for each token, with `Retry-After` in whole seconds.
import { faultReply } from './faults.ts';

export interface RateLimitOptions {
  perSecond: number;
  /** Requests above the rate that are accepted at once. */
  burst: number;
}

export class RateLimit {
  readonly #intervalMs: number;
  readonly #toleranceMs: number;
  /** When the bucket of a token is empty, by token. */
  readonly #emptyAt = new Map<string, number>();

  constructor({ perSecond, burst }: RateLimitOptions) {
    this.#intervalMs = 1000 / perSecond;
    this.#toleranceMs = this.#intervalMs * burst;
  }

  /** The refusal of a request; undefined if it is accepted. */
  refusal(token: string, requestId: string): ReturnType<typeof faultReply> | undefined {
    const now = performance.now();
    const emptyAt = Math.max(this.#emptyAt.get(token) ?? now, now);
    const waitMs = emptyAt - now - this.#toleranceMs;
    if (waitMs <= 0) {
      this.#emptyAt.set(token, emptyAt + this.#intervalMs);
      return undefined;
    }
    const headers = { 'Retry-After': String(Math.ceil(waitMs / 1000)) };
    return faultReply({ status: 429, headers }, requestId);
  }
}
