// The ratios as a picture: one group of bars per figure, on a logarithmic scale.
import { everybody, us } from './contenders.ts';
import { short } from './report.ts';
import type { Results } from './results.ts';

const shown: readonly [id: string, title: string][] = [
  ['step', 'a step, tools in process'],
  ['mcpStep', 'a step through MCP in process'],
  ['stepAt200', 'step 200 of a long run'],
  ['delta', 'a streamed delta'],
  ['idle', 'memory of an idle agent'],
  ['importMs', 'cold import'],
];
const WIDTH = 860;
const LEFT = 150;
const BAR = 13;
const colours = { us: '#1a7f5a', other: '#9aa5b1' };

export function chart(results: Results): string {
  const groups = shown.map(([id, title]) => ({
    title,
    bars: everybody.flatMap((name) => {
      const ratio = results.ratio(name, id);
      return ratio === undefined ? [] : [{ name, ratio }];
    }),
  }));
  const all = groups.flatMap(({ bars }) => bars.map(({ ratio }) => ratio));
  const low = Math.log10(Math.min(1, ...all) / 1.5);
  const high = Math.log10(Math.max(10, ...all));
  const x = (ratio: number) => ((Math.log10(ratio) - low) / (high - low)) * (WIDTH - LEFT - 70);
  let y = 34;
  const parts: string[] = [];
  for (const { title, bars } of groups) {
    parts.push(`<text x="8" y="${y}" font-weight="600">${title}</text>`);
    y += 8;
    for (const { name, ratio } of bars) {
      const width = Math.max(2, x(ratio)).toFixed(1);
      const fill = name === us ? colours.us : colours.other;
      parts.push(
        `<text x="${LEFT - 8}" y="${y + 10}" text-anchor="end">${name}</text>`,
        `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR - 2}" fill="${fill}"/>`,
        `<text x="${(LEFT + Number(width) + 5).toFixed(1)}" y="${y + 10}">${short(ratio)} ×</text>`,
      );
      y += BAR + 2;
    }
    y += 20;
  }
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" font-family="sans-serif" font-size="11" fill="#1f2933">
<title>Ratios of the benchmark</title>
<rect width="100%" height="100%" fill="#ffffff"/>
<text x="8" y="16">Ratio to the base of each figure (logarithmic; shorter is better)</text>
${parts.join('\n')}
</svg>
`;
}
