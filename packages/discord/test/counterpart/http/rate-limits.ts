// Rate-limit buckets like Discord's, and a record of every request that exceeded one.
import { createHash } from 'node:crypto';

interface RateLimit {
  limit: number;
  perMs: number;
}

/** Limits by route, such as `PATCH /channels/:channel/messages/:message`; `global` applies to nearly all together. */
export type RateLimits = Record<string, RateLimit | undefined>;

export interface Violation {
  at: number;
  route: string;
  path: string;
  global: boolean;
  retryAfterMs: number;
}

interface Verdict {
  headers: Record<string, string>;
  /** Set if the request is refused. */
  refused?: { global: boolean; retryAfterSeconds: number };
}

export const USUAL_RATE_LIMITS: RateLimits = {
  global: { limit: 50, perMs: 1000 },
  'POST /channels/:channel/messages': { limit: 5, perMs: 5000 },
  'PATCH /channels/:channel/messages/:message': { limit: 5, perMs: 5000 },
  'DELETE /channels/:channel/messages/:message': { limit: 5, perMs: 1000 },
  'POST /channels/:channel/typing': { limit: 5, perMs: 5000 },
  'PUT /channels/:channel/messages/:message/reactions/:emoji/@me': { limit: 4, perMs: 1000 },
  'POST /webhooks/:webhook/:token': { limit: 5, perMs: 2000 },
  'PATCH /webhooks/:webhook/:token/messages/:message': { limit: 5, perMs: 2000 },
};

interface Bucket {
  used: number;
  resetsAt: number;
}

export class RateLimiter {
  readonly limits: RateLimits;
  readonly violations: Violation[] = [];
  readonly #buckets = new Map<string, Bucket>();

  constructor(limits: RateLimits) {
    this.limits = limits;
  }

  check({ route, path, params }: { route: string; path: string; params: Record<string, string> }): Verdict {
    const free = route.includes('/interactions/') || route.includes('/webhooks/');
    const global = free ? undefined : this.limits.global;
    const all = global && this.#take('global', global);
    if (all && !all.allowed) return this.#refuse({ route, path, global: true, bucket: all.bucket, headers: {} });

    const limit = this.limits[route];
    if (!limit) return { headers: {} };
    const major = params.channel ?? params.guild ?? `${params.webhook}/${params.token}`;
    const { bucket, allowed } = this.#take(`${route} ${major}`, limit);
    const headers = {
      'X-RateLimit-Limit': String(limit.limit),
      'X-RateLimit-Remaining': String(Math.max(0, limit.limit - bucket.used)),
      'X-RateLimit-Reset': (bucket.resetsAt / 1000).toFixed(3),
      'X-RateLimit-Reset-After': (Math.max(0, bucket.resetsAt - Date.now()) / 1000).toFixed(3),
      'X-RateLimit-Bucket': createHash('md5').update(route).digest('hex'),
    };
    return allowed ? { headers } : this.#refuse({ route, path, global: false, bucket, headers });
  }

  #take(key: string, { limit, perMs }: RateLimit): { bucket: Bucket; allowed: boolean } {
    const now = Date.now();
    let bucket = this.#buckets.get(key);
    if (!bucket || bucket.resetsAt <= now) {
      bucket = { used: 0, resetsAt: now + perMs };
      this.#buckets.set(key, bucket);
    }
    bucket.used++;
    return { bucket, allowed: bucket.used <= limit };
  }

  #refuse(refusal: {
    route: string;
    path: string;
    global: boolean;
    bucket: Bucket;
    headers: Record<string, string>;
  }): Verdict {
    const { route, path, global, bucket } = refusal;
    const at = Date.now();
    const retryAfterMs = Math.max(1, bucket.resetsAt - at);
    this.violations.push({ at, route, path, global, retryAfterMs });
    return {
      headers: {
        ...refusal.headers,
        'Retry-After': (retryAfterMs / 1000).toFixed(3),
        'X-RateLimit-Scope': global ? 'global' : 'user',
        ...(global && { 'X-RateLimit-Global': 'true' }),
      },
      refused: { global, retryAfterSeconds: retryAfterMs / 1000 },
    };
  }
}
