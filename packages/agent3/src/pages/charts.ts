// Charts as inline SVG: bars for sums, lines for averages.
import { html } from 'hono/html';
import type { Html } from './layout.ts';

interface ChartOptions {
  title: string;
  /** The total or average, shown beside the title. */
  summary: string;
  /** One per bucket; undefined without data. */
  values: readonly (number | undefined)[];
  times: readonly number[];
  kind: 'bars' | 'line';
  /** The top of the scale. Default: derived from the values. */
  top?: number;
  /** Lower bound for the derived top of the scale. */
  minTop?: number;
  /** The scale shows whole numbers only. */
  isWhole?: boolean;
  format(value: number): string;
  formatTime(time: number): string;
}

const [WIDTH, HEIGHT, RIGHT, TOP, BOTTOM] = [480, 174, 8, 14, 28];
const GAP = 8;
/** Width of a digit in the largest font size, that of phones (style.css). */
const DIGIT_WIDTH = 12;
const GRID_LINES = [0, 0.5, 1];
const MIN_BAR = 2;

export function chart(options: ChartOptions): Html {
  const { title, summary, values, times, kind, format, formatTime } = options;
  const top = topOf(options);
  const left = GAP + DIGIT_WIDTH * Math.max(...GRID_LINES.map((share) => format(top * share).length));
  const y = (value: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - value / top);
  const step = (WIDTH - left - RIGHT) / Math.max(1, values.length);
  const x = (index: number) => left + step * (index + 0.5);
  const label = (index: number) => `${formatTime(times[index] ?? 0)}: ${format(values[index] ?? 0)}`;
  const grid = GRID_LINES.map(
    (
      share,
    ) => html`<line class="grid" x1="${left}" x2="${WIDTH - RIGHT}" y1="${y(top * share)}" y2="${y(top * share)}" />
      <text x="${left - GAP}" y="${y(top * share) + 4}" text-anchor="end">${format(top * share)}</text>`,
  );
  const ends = [0, values.length - 1].map(
    (index, side) =>
      html`<text x="${side === 0 ? left : WIDTH - RIGHT}" y="${HEIGHT - 6}" text-anchor="${side === 0 ? 'start' : 'end'}">${formatTime(times[index] ?? 0)}</text>`,
  );
  const drawn = kind === 'bars' ? bars() : lines();
  return html`<figure class="panel"><figcaption>${title} <span>${summary}</span></figcaption>
    <svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${title}: ${summary}">${grid}${ends}${drawn}</svg></figure>`;

  function bars(): Html[] {
    return values.flatMap((value, index) => {
      if (!value) return [];
      const height = Math.max(MIN_BAR, y(0) - y(value));
      const width = Math.max(1, step * 0.7);
      return [
        html`<rect class="bar" x="${rounded(x(index) - width / 2)}" y="${rounded(y(0) - height)}" width="${rounded(width)}" height="${rounded(height)}" rx="${rounded(Math.min(2, width / 2))}"><title>${label(index)}</title></rect>`,
      ];
    });
  }

  function lines(): Html[] {
    const points = values.flatMap((value, index) =>
      value === undefined ? [] : [{ index, at: `${rounded(x(index))},${rounded(y(value))}` }],
    );
    return [
      html`<polyline class="curve" points="${points.map(({ at }) => at).join(' ')}" />`,
      ...points.map(
        ({ index }) =>
          html`<circle class="point" cx="${rounded(x(index))}" cy="${rounded(y(values[index] ?? 0))}" r="2.5"><title>${label(index)}</title></circle>`,
      ),
    ];
  }
}

function topOf({ top, minTop = 0, values, isWhole = false }: ChartOptions): number {
  if (top !== undefined) return top;
  const max = Math.max(minTop, ...values.map((value) => value ?? 0));
  // an even number, so that the grid line in the middle is whole
  return isWhole ? 2 * niceTop(Math.ceil(max / 2)) : niceTop(max);
}

/** Rounds up to 1, 2 or 5 times a power of ten. */
function niceTop(max: number): number {
  if (max <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(max));
  const digit = [1, 2, 5, 10].find((candidate) => candidate * power >= max) ?? 10;
  return digit * power;
}

function rounded(value: number): number {
  return Math.round(value * 10) / 10;
}
