// What providers say in their headers about their own count of requests and tokens.
import type { ProviderCount, RateLimits } from './rate-window.ts';

/**
 * What headers that came `ageMs` ago mean for `limits`, ours: no more room than what remains, until the reset. The
 * provider's limit may be another one, also by the day; it does not matter as long as more remains than we would use.
 */
export function providerCounts(
  headers: Record<string, string | undefined>,
  limits: RateLimits,
  ageMs: number,
  now = Date.now(),
): ProviderCount[] {
  return kinds.flatMap((kind) => {
    const limit = limits[kind];
    const remaining = number(
      headers[`x-ratelimit-remaining-${kind}`] ?? headers[`anthropic-ratelimit-${kind}-remaining`],
    );
    const duration = headers[`x-ratelimit-reset-${kind}`];
    const date = headers[`anthropic-ratelimit-${kind}-reset`];
    if (limit === undefined || remaining === undefined || remaining >= limit) return [];
    const resetMs = duration === undefined ? durationMs(date ?? '', now) : (durationMs(duration, now) ?? 0) - ageMs;
    return resetMs !== undefined && resetMs > 0 ? [{ [kind]: limit - Math.max(0, remaining), resetMs }] : [];
  });
}

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
