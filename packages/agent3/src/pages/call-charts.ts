// Charts of calls, success, time and cost of one agent, and the same as a table.
import { html } from 'hono/html';
import type { Statistics } from '../base/call-records.ts';
import { dollarsText } from '../base/price-text.ts';
import { chart } from './charts.ts';
import { countText, dateText, durationText, percentText, timeText } from './figures.ts';
import type { Html } from './layout.ts';

const HOUR_MS = 3_600_000;
/** Minimum range of the time axis, whose labels are whole milliseconds. */
const MIN_MS = 10;

export interface Range {
  name: string;
  buckets: number;
  bucketMs: number;
}

const week: Range = { name: '7 days', buckets: 56, bucketMs: 3 * HOUR_MS };

export const ranges: readonly Range[] = [
  { name: '24 hours', buckets: 48, bucketMs: HOUR_MS / 2 },
  week,
  { name: '30 days', buckets: 30, bucketMs: 24 * HOUR_MS },
];

export function rangeOf(name: string | undefined): Range {
  return ranges.find((range) => range.name === name) ?? week;
}

/** Whole buckets up to and including the current one. */
export function spanOf({ buckets, bucketMs }: Range, now: number): { since: number; until: number; bucketMs: number } {
  const until = Math.floor(now / bucketMs + 1) * bucketMs;
  return { since: until - buckets * bucketMs, until, bucketMs };
}

export function callCharts({ statistics, range, now }: { statistics: Statistics; range: Range; now: number }): Html {
  const { total, buckets } = statistics;
  const { since, bucketMs } = spanOf(range, now);
  const times = Array.from({ length: range.buckets }, (_, index) => since + index * bucketMs);
  const byStart = new Map(buckets.map((bucket) => [bucket.start, bucket]));
  const all = times.map((time) => byStart.get(time));
  const formatTime = bucketMs < 24 * HOUR_MS ? timeText : dateText;
  const shared = { times, formatTime };
  const period = `in ${range.name}`;
  if (total.calls === 0) return html`<p class="panel">No calls in the last ${range.name}.</p>`;
  return html`<div class="charts">
      ${chart({ ...shared, title: 'Calls', summary: `${countText(total.calls)} ${period}`, kind: 'bars', isWhole: true, values: all.map((one) => one?.calls), format: countText })}
      ${chart({ ...shared, title: 'Success rate', summary: `${percentText(total.successRate)} ${period}`, kind: 'line', top: 1, values: all.map((one) => one?.successRate), format: percentText })}
      ${chart({ ...shared, title: 'Mean time', summary: `${durationText(total.averageResponseTime)} ${period}`, kind: 'line', minTop: MIN_MS, values: all.map((one) => one?.averageResponseTime), format: durationText })}
      ${chart({ ...shared, title: 'Cost', summary: `${dollarsText(total.cost)} ${period}`, kind: 'bars', values: all.map((one) => one?.cost), format: dollarsText })}
    </div>
    <p class="soft small">Without calls that never reached the agent, that were cancelled, or that gave it less than ten seconds.</p>
    <details class="panel small"><summary>As a table</summary><div class="table" tabindex="0"><table>
      <thead><tr><th scope="col">From</th><th scope="col">Calls</th><th scope="col">Success rate</th><th scope="col">Mean time</th><th scope="col">Cost</th></tr></thead>
      <tbody>${buckets.map((one) => html`<tr><td>${timeText(one.start)}</td><td>${countText(one.calls)}</td><td>${percentText(one.successRate)}</td><td>${durationText(one.averageResponseTime)}</td><td>${dollarsText(one.cost)}</td></tr>`)}</tbody>
    </table></div></details>`;
}
