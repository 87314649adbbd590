// The ratios as a picture: one group of bars per figure, to the right of its base what costs more, to the left what less.
import { everybody, us } from './contenders.ts';
import { figures } from './figures.ts';
import { short } from './report.ts';
import type { Results } from './results.ts';

/** Everything with a target that is a ratio, and what else people ask about. */
const shown = figures.filter(
  ({ id, target }) => target?.ratio !== undefined || id === 'idle' || id.includes('CallCpu'),
);
const WIDTH = 860;
const LEFT = 130;
/** Room for the number after the longest bar. */
const RIGHT = 90;
const TOP = 72;
const BAR = 14;
const GAP = 4;

const style = `
  svg { font: 12px sans-serif; } text { paint-order: stroke; stroke-width: 4px; }
  .back { fill: #ffffff; } text { fill: #1f2933; stroke: #ffffff; } .faint { fill: #52606d; }
  .grid { stroke: #e1e6eb; } .base { stroke: #52606d; }
  .other { fill: #9aa5b1; } .us { fill: #1a7f5a; }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; } text { fill: #e6edf3; stroke: #0d1117; } .faint { fill: #9198a1; }
    .grid { stroke: #2a313c; } .base { stroke: #9198a1; }
    .other { fill: #656f7c; } .us { fill: #3fb68b; }
  }`;

export function chart(results: Results): string {
  const groups = shown.flatMap(({ id, title, base, moreIsBetter = false }) => {
    const bars = everybody.flatMap((name) => {
      const ratio = results.ratio(name, id);
      return ratio === undefined ? [] : [{ name, ratio: moreIsBetter ? 1 / ratio : ratio }];
    });
    const what = `${title}${moreIsBetter ? ', time for a call' : ''} (1 × is ${base})`;
    return bars.length > 1 ? [{ title: `${what.charAt(0).toUpperCase()}${what.slice(1)}`, bars }] : [];
  });
  const all = groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio));
  const lowest = Math.floor(Math.log10(Math.min(1, ...all)));
  const highest = Math.max(1, Math.log10(Math.max(1, ...all)));
  const x = (ratio: number) => LEFT + ((Math.log10(ratio) - lowest) / (highest - lowest)) * (WIDTH - LEFT - RIGHT);
  const parts: string[] = [];
  let y = TOP;
  for (const { title, bars } of groups) {
    y += 26;
    parts.push(`<text x="12" y="${y - 8}" font-weight="600">${title}</text>`);
    for (const { name, ratio } of bars) {
      const kind = name === us ? 'us' : 'other';
      const [from, to] = [Math.min(x(1), x(ratio)), Math.max(x(1), x(ratio))];
      const weight = name === us ? ' font-weight="600"' : '';
      parts.push(
        `<text x="${LEFT - 8}" y="${y + 11}" text-anchor="end"${weight}>${name}</text>`,
        `<rect class="${kind}" x="${(from - 1).toFixed(1)}" y="${y}" width="${(to - from + 2).toFixed(1)}" height="${BAR}"/>`,
        `<text x="${(to + 7).toFixed(1)}" y="${y + 11}"${weight}>${short(ratio)} ×</text>`,
      );
      y += BAR + GAP;
    }
    y += 6;
  }
  const powers = Array.from({ length: Math.floor(highest) - lowest + 1 }, (_, index) => 10 ** (lowest + index));
  const grid = powers.flatMap((power) => [
    `<line class="${power === 1 ? 'base' : 'grid'}" x1="${x(power).toFixed(1)}" x2="${x(power).toFixed(1)}" y1="${TOP}" y2="${y}"/>`,
    `<text class="faint" x="${x(power).toFixed(1)}" y="${TOP - 6}" text-anchor="middle">${power.toLocaleString('en')} ×</text>`,
  ]);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y + 12}" width="${WIDTH}" height="${y + 12}" role="img">
<title>Pocket Agent side by side: ratios of the benchmark</title>
<style>${style}
</style>
<rect class="back" width="100%" height="100%"/>
<text x="12" y="24" font-size="16" font-weight="600">Pocket Agent side by side</text>
<text class="faint" x="12" y="42">How many times the base of each figure it costs. The scale is logarithmic; further left is better.</text>
${[...grid, ...parts].join('\n')}
</svg>
`;
}
