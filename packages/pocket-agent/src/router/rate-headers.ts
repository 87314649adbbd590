// Reads the rate limits that providers report in their response headers.
import type { ProviderCount, RateLimits } from './rate-window.ts';

type Headers = Record<string, string | undefined>;

interface ReportedLimits {
  headers: Headers;
  /** Our own limits, which may differ from those of the provider. */
  limits: RateLimits;
  /** How long ago the provider sent the headers, at most. */
  ageMs: number;
  now?: number;
}

/** Leaves as much room in our limits as remains at the provider. Reports of more room than we allow are dropped. */
export function providerCounts({ headers, limits, ageMs, now = Date.now() }: ReportedLimits): ProviderCount[] {
  return (['requests', 'tokens'] as const).flatMap((kind) => {
    const limit = limits[kind];
    if (limit === undefined) return [];
    const reported = [...openaiCounts(kind, headers, { ageMs, now }), ...anthropicCounts(kind, headers, now)];
    return reported.flatMap(({ remaining, resetMs }) => {
      if (remaining === undefined || resetMs === undefined || remaining >= limit || resetMs <= 0) return [];
      return [{ [kind]: limit - Math.max(0, remaining), resetMs }];
    });
  });
}

interface Reported {
  remaining: number | undefined;
  resetMs: number | undefined;
}

/** OpenAI reports the time until the reset, counted from when it sent the headers. */
function openaiCounts(kind: string, headers: Headers, { ageMs, now }: { ageMs: number; now: number }): Reported[] {
  const reset = headers[`x-ratelimit-reset-${kind}`];
  const resetMs = reset === undefined ? undefined : (durationMs(reset, now) ?? 0) - ageMs;
  return [{ remaining: number(headers[`x-ratelimit-remaining-${kind}`]), resetMs }];
}

/** Anthropic reports the date of the reset. It counts input tokens separately, and those run out first. */
function anthropicCounts(kind: string, headers: Headers, now: number): Reported[] {
  const names = kind === 'tokens' ? ['tokens', 'input-tokens'] : [kind];
  return names.map((name) => ({
    remaining: number(headers[`anthropic-ratelimit-${name}-remaining`]),
    resetMs: durationMs(headers[`anthropic-ratelimit-${name}-reset`] ?? '', now),
  }));
}

function number(text: string | undefined): number | undefined {
  const value = Number(text);
  return text === undefined || !Number.isFinite(value) ? undefined : value;
}

const MAX_DURATION = 100;
const unitMs: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** `1s`, `6m0s`, `250ms`, a number of seconds, or a date. */
export function durationMs(text: string, now: number): number | undefined {
  const plain = Number(text);
  if (text.trim() !== '' && Number.isFinite(plain)) return plain * 1_000;
  const parts = [...text.slice(0, MAX_DURATION).matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  if (parts.length > 0 && parts.map(([part]) => part).join('') === text.trim()) {
    return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (unitMs[unit] ?? 0), 0);
  }
  const date = Date.parse(text);
  return Number.isFinite(date) ? Math.max(0, date - now) : undefined;
}
