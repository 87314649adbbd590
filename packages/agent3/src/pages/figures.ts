// Formats numbers and times.

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 });

export function countText(count: number): string {
  return whole.format(count);
}

export function durationText(ms: number): string {
  if (ms > 0 && ms < 1) return '< 1 ms';
  return ms < 1_000 ? `${whole.format(ms)} ms` : `${(ms / 1_000).toFixed(ms < 10_000 ? 1 : 0)} s`;
}

export function percentText(share: number): string {
  const percent = Math.round(share * 1_000) / 10;
  return `${percent.toFixed(Number.isInteger(percent) ? 0 : 1)} %`;
}

export function successText({ successRate, totalCalls }: { successRate: number; totalCalls: number }): string {
  if (totalCalls === 1) return successRate === 1 ? '1 call, which succeeded' : '1 call, which failed';
  return `${percentText(successRate)} of ${countText(totalCalls)} calls succeeded`;
}

/** In UTC, as the footer of the pages says. */
export function dateText(time: number | string): string {
  return new Date(time).toISOString().slice(0, 10);
}

export function timeText(time: number): string {
  return new Date(time).toISOString().slice(0, 16).replace('T', ' ');
}
