// What providers say in their headers about their own count of requests and tokens.
import type { ProviderCount, RateLimits } from './rate-window.ts';

/**
 * What headers that came `ageMs` ago mean for `limits`, ours: no more room than what remains, until the reset. The
 * provider's limit may be another one, also by the day; it does not matter as long as more remains than we would use.
 */
export function providerCounts(headers: Headers, limits: RateLimits, ageMs: number, now = Date.now()): ProviderCount[] {
  return kinds.flatMap((kind) => {
    const limit = limits[kind];
    if (limit === undefined) return [];
    return toldFor(kind, headers, ageMs, now).flatMap(({ remaining, resetMs }) => {
      if (remaining >= limit || resetMs === undefined || resetMs <= 0) return [];
      return [{ [kind]: limit - Math.max(0, remaining), resetMs }];
    });
  });
}

interface Told {
  remaining: number;
  resetMs: number | undefined;
}

/** Anthropic counts tokens in by themselves too, and runs out of those first. */
function toldFor(kind: 'requests' | 'tokens', headers: Headers, ageMs: number, now: number): Told[] {
  const names = kind === 'tokens' ? ['tokens', 'input-tokens'] : ['requests'];
  const since = headers[`x-ratelimit-reset-${kind}`];
  const told = [
    {
      remaining: number(headers[`x-ratelimit-remaining-${kind}`]),
      resetMs: since === undefined ? undefined : (durationMs(since, now) ?? 0) - ageMs,
    },
    ...names.map((name) => ({
      remaining: number(headers[`anthropic-ratelimit-${name}-remaining`]),
      resetMs: durationMs(headers[`anthropic-ratelimit-${name}-reset`] ?? '', now),
    })),
  ];
  return told.flatMap(({ remaining, resetMs }) => (remaining === undefined ? [] : [{ remaining, resetMs }]));
}

type Headers = Record<string, string | undefined>;

const kinds = ['requests', 'tokens'] as const;

function number(text: string | undefined): number | undefined {
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) ? undefined : value;
}

const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1s`, `6m0s`, `250ms`, a number of seconds, or a date. */
export function durationMs(text: string, now: number): number | undefined {
  const plain = Number(text);
  if (text.trim() !== '' && Number.isFinite(plain)) return plain * 1_000;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length > 0 && parts.map(([part]) => part).join('') === text.trim()) {
    return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
  }
  const date = Date.parse(text);
  return Number.isFinite(date) ? Math.max(0, date - now) : undefined;
}
