// Draws the ratios as SVG: one line per figure, one mark per contender. Marks to the right of the base cost more.
import { allContenders, isInstalled, peers, sdk, us } from '../contenders/contenders.ts';
import { figures } from './figures.ts';
import { machine, percent, short } from './report.ts';
import type { Results } from './results.ts';
import { versionsOf } from './versions.ts';

const WIDTH = 1_040;
const LEFT = 440;
/** Space for our value. */
const RIGHT = 70;
const TOP = 100;
const LINE = 20;
const LEGEND = 114;
/** Height of a line of the footer. */
const SMALL = 15;

/** Marks differ in shape as well, for colour-blind readers. */
const marks: Record<string, string> = {
  floor: '<rect class="floor" x="-1.5" y="-7" width="3" height="14"/>',
  'mcp-sdk': '<rect class="floor" x="-5" y="-1.5" width="10" height="3"/>',
  [us]: '<circle class="us" r="6.5"/>',
  ai: '<rect class="one" x="-4.5" y="-4.5" width="9" height="9"/>',
  generateText: '<rect class="one open" x="-4" y="-4" width="8" height="8"/>',
  'openai-agents': '<path class="two" d="M0,-6 6,5 -6,5Z"/>',
  mastra: '<path class="three" d="M0,6 6,-5 -6,-5Z"/>',
  langchain: '<path class="four" d="M0,-6.5 6.5,0 0,6.5 -6.5,0Z"/>',
  voltagent: '<circle class="five open" r="4.5"/>',
};

const style = `
  svg { font: 12px sans-serif; } .open { fill-opacity: 0; stroke-width: 2px; }
  .back { fill: #ffffff; } text { fill: #1f2933; } .faint { fill: #52606d; }
  .grid { stroke: #e1e6eb; } .base { stroke: #52606d; } .floor { fill: #52606d; }
  .us { fill: #1a7f5a; } .one { fill: #0072b2; stroke: #0072b2; } .two { fill: #d55e00; } .three { fill: #b8860b; }
  .four { fill: #a8438a; } .five { fill: #3b6ea5; stroke: #7b5cc4; }
  @media (prefers-color-scheme: dark) {
    .back { fill: #0d1117; } text { fill: #e6edf3; } .faint { fill: #9198a1; }
    .grid { stroke: #2a313c; } .base { stroke: #9198a1; } .floor { fill: #9198a1; }
    .us { fill: #3fb68b; } .one { fill: #56b4e9; stroke: #56b4e9; } .two { fill: #f08a4b; } .three { fill: #e6c229; }
    .four { fill: #e08ac6; } .five { fill: #b39ddb; stroke: #b39ddb; }
  }`;

export function chart(results: Results): string {
  const lines = figures.flatMap(({ id, title, base, unit, moreIsBetter = false }) => {
    const ratios = allContenders.flatMap((name) => {
      const ratio = name === base ? undefined : results.ratio(name, id);
      return ratio ? [{ name, ratio: moreIsBetter ? 1 / ratio : ratio }] : [];
    });
    return ratios.length > 0 ? [{ title, base: unit === '×' ? '' : ` / ${base}`, ratios }] : [];
  });
  const all = lines.flatMap(({ ratios }) => ratios.map(({ ratio }) => ratio));
  const lowest = Math.floor(Math.log10(Math.min(1, ...all)));
  const highest = Math.ceil(Math.log10(Math.max(10, ...all)));
  const x = (ratio: number) => LEFT + ((Math.log10(ratio) - lowest) / (highest - lowest)) * (WIDTH - LEFT - RIGHT);
  const bottom = TOP + lines.length * LINE + 4;
  const small = smallPrint(results);
  const height = bottom + 12 + small.length * SMALL;
  const powers = Array.from({ length: highest - lowest + 1 }, (_, index) => 10 ** (lowest + index));
  const grid = powers.flatMap((power) => [
    `<line class="${power === 1 ? 'base' : 'grid'}" x1="${x(power).toFixed(1)}" x2="${x(power).toFixed(1)}" y1="${TOP - 8}" y2="${bottom}"/>`,
    `<text class="faint" x="${x(power).toFixed(1)}" y="${TOP - 14}" text-anchor="middle">${power.toLocaleString('en')} ×</text>`,
  ]);
  const legend = allContenders.flatMap((name, index) => [
    mark({ name, x: 20 + index * LEGEND, y: 56 }),
    `<text x="${30 + index * LEGEND}" y="60"${name === us ? ' font-weight="600"' : ''}>${name}</text>`,
  ]);
  const rows = lines.flatMap(({ title, base, ratios }, index) => {
    const y = TOP + 6 + index * LINE;
    const ours = ratios.find(({ name }) => name === us)?.ratio;
    // ours is drawn last, on top of the others
    const drawn = ratios.toSorted((one, other) => Number(one.name === us) - Number(other.name === us));
    return [
      `<text x="12" y="${y + 4}">${title}<tspan class="faint">${base}</tspan></text>`,
      ...drawn.map(({ name, ratio }) => mark({ name, x: x(ratio), y })),
      ours ? `<text x="${WIDTH - 12}" y="${y + 4}" text-anchor="end" font-weight="600">${short(ours)} ×</text>` : '',
    ];
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" role="img">
<title>Pocket Agent side by side: ratios of the benchmark</title>
<style>${style}
</style>
<rect class="back" width="100%" height="100%"/>
<text x="12" y="22" font-size="16" font-weight="600">Pocket Agent side by side</text>
<text class="faint" x="12" y="40">Each figure relative to its base (after the slash), with our ratio on the right. Rates are shown as time per call. Logarithmic scale; left is better.</text>
${[...legend, ...grid, ...rows].join('\n')}
${small.map((text, index) => `<text class="faint" x="12" y="${bottom + 16 + index * SMALL}" font-size="10">${text}</text>`).join('\n')}
</svg>
`;
}

/** Commit, machine and noise. */
function smallPrint(results: Results): string[] {
  const who = [us, sdk, ...peers].filter(isInstalled);
  const versions = who.map(versionsOf);
  const half = Math.ceil(versions.length / 2);
  const noise = `medians of repeats that differ by ±${percent(results.noise)}`;
  return [
    `${machine()}; Node ${process.version}; ${noise}`,
    versions.slice(0, half).join('; '),
    versions.slice(half).join('; '),
  ];
}

function mark({ name, x, y }: { name: string; x: number; y: number }): string {
  return `<g transform="translate(${x.toFixed(1)} ${y})">${marks[name]}</g>`;
}
