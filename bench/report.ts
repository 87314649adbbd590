// The results as a table in Markdown.
import { cpus, totalmem } from 'node:os';
import type { Effort } from './contender.ts';
import { everybody, isInstalled, peers, us } from './contenders.ts';
import { type Figure, figures, meets, targetText } from './figures.ts';
import { contendersTable } from './reach.ts';
import type { Results } from './results.ts';

interface ReportParts {
  effort: Effort;
  minutes: number;
  repeats: number;
}

export function report(results: Results, { effort, minutes, repeats }: ReportParts): string {
  const shown = everybody.filter((name) => !peers.includes(name) || isInstalled(name));
  const rows = figures.map((figure) => [
    `${figure.item}`,
    `${figure.title}${figure.unit ? `, ${figure.unit}` : ''}`,
    ...shown.map((name) => cell(results, name, figure.id)),
    targetText(figure),
    verdictOf(results, figure) === 'missed' ? '**missed**' : verdictOf(results, figure),
  ]);
  const head = ['', '', ...shown.map((name) => (name === us ? `**${us}**` : name)), 'target', ''];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const verdicts = figures.map((figure) => verdictOf(results, figure)).filter((verdict) => verdict !== '');
  const met = verdicts.filter((verdict) => verdict === 'met').length;
  const notes = results.notes.map((note) => `- ${note}`).join('\n');
  return `# Side by side

Made by \`npm run bench\` in ${minutes.toFixed(0)} minutes: ${met} of ${verdicts.length} targets are met. Every cell is a median, and in brackets
its ratio to the base of its row: the hand-written loop (\`floor\`), the bare client of the MCP SDK v2 (\`mcp-sdk\`), or
another contender. Times of steps, deltas and calls are CPU time of the process, garbage collection included; items 3 to 5,
8 and 12 are on the clock. Agents are sought among ${effort.registered.toLocaleString('en')}. Calls of Mattermost are those in a second of CPU.

![ratios](results.svg)

${table}

## Machine and noise

| | |
|---|---|
| machine | ${cpus()[0]?.model.trim() ?? 'unknown'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB, ${process.platform} ${process.arch} |
| Node | ${process.version} |
| repeats | ${repeats}, each in a process of its own, after ${effort.warmMs} ms of warming up and for ${effort.measureMs} ms; what takes long or varies little (search, memory of idle agents) once; ${effort.starts} cold starts in each |
| order | contenders in turn within each repeat, another one first every time |
| spread | half of the distance from the lowest to the highest repeat, as a part of the median; shown as ± where above 10 %. Typical: ±${(results.noise * 100).toFixed(0)} % |

## Who is measured

${contendersTable()}

The revision is what a contender negotiates with the same server. VoltAgent has no way to an MCP server of its own process.
${notes ? `\nLeft out:\n\n${notes}\n` : ''}`;
}

/** Empty for a figure without a target, or that was not measured. */
export function verdictOf(results: Results, figure: Figure): 'met' | 'missed' | '' {
  const value = results.value(us, figure.id);
  const verdict = value === undefined ? undefined : meets(figure, value, results.ratio(us, figure.id) ?? Number.NaN);
  return verdict === undefined ? '' : verdict ? 'met' : 'missed';
}

export function cell(results: Results, name: string, id: string): string {
  const value = results.value(name, id);
  if (value === undefined) return '';
  const ratio = results.ratio(name, id);
  const spread = results.spread(name, id);
  const noise = spread > 0.1 ? ` ±${Math.round(spread * 100)} %` : '';
  return `${short(value)}${noise}${ratio === undefined || ratio === 1 ? '' : ` (${short(ratio)} ×)`}`;
}

export function short(value: number): string {
  const digits = value < 1.995 ? 2 : value < 9.95 ? 1 : 0;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}
