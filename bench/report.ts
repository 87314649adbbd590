// The results as a table in Markdown.
import { cpus, totalmem } from 'node:os';
import type { Effort } from './contender.ts';
import { everybody, isInstalled, packagesOf, peers, us } from './contenders.ts';
import { figures, meets, targetText } from './figures.ts';
import type { Results } from './results.ts';

interface ReportParts {
  effort: Effort;
  minutes: number;
}

export function report(results: Results, { effort, minutes }: ReportParts): string {
  const shown = everybody.filter((name) => !peers.includes(name) || isInstalled(name));
  const rows = figures.map((figure) => {
    const ratio = results.ratio(us, figure.id);
    const value = results.value(us, figure.id);
    const verdict = value === undefined ? undefined : meets(figure, value, ratio ?? Number.NaN);
    const cells = shown.map((name) => cell(results, name, figure.id));
    const met = verdict === undefined ? '' : verdict ? 'yes' : '**no**';
    return [
      `${figure.item}`,
      `${figure.title}${figure.unit ? `, ${figure.unit}` : ''}`,
      ...cells,
      targetText(figure),
      met,
    ];
  });
  const head = ['', '', ...shown.map((name) => (name === us ? `**${us}**` : name)), 'target', 'met'];
  const table = [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
  const versions = peers.map((peer) => `- ${peer}: ${packagesOf(peer).join(', ')}`).join('\n');
  const notes = results.notes.map((note) => `- ${note}`).join('\n');
  return `# Side by side

Made by \`npm run bench\` in ${minutes.toFixed(0)} minutes. Every cell is the median of the repeats, and in brackets its
ratio to the base of its row: the hand-written loop (\`floor\`), the bare client of the MCP SDK v2 (\`mcp-sdk\`), or
another contender. A figure with ± varied more than a tenth between repeats. Times of steps, deltas and calls are CPU time of
the process; items 3 to 5, 8, 11 and 12 are on the clock. Agents are sought among ${effort.registered.toLocaleString('en')}.

${table}

![ratios](results.svg)

Every measurement ran in a process of its own, contenders in turn. Machine: ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'},
${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${process.platform} ${process.arch}; typical spread of a figure
between repeats ±${(results.noise * 100).toFixed(0)} %.

${versions}
${notes ? `\nLeft out:\n\n${notes}\n` : ''}`;
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
  const digits = value < 0.995 ? 2 : value < 9.95 ? 1 : 0;
  return value.toFixed(digits).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
}
