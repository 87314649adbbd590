// Prints the results on the console: ratios, and values for the base and for Pocket Agent. RESULTS.md has all values.
import { us } from '../contenders/contenders.ts';
import { type Figure, targetText, titleOf } from './figures.ts';
import { percent, short, verdictText } from './report.ts';
import { type Results, spreadOf } from './results.ts';

interface TableOptions {
  names: readonly string[];
  figures: readonly Figure[];
  /** Whether the target of a figure can be judged. */
  isJudged(figure: Figure): boolean;
}

interface Cell {
  results: Results;
  name: string;
  figure: Figure;
}

export function table(results: Results, { names: requested, figures, isJudged }: TableOptions): string {
  const names = requested.filter((name) => figures.some(({ id }) => results.value(name, id) !== undefined));
  const head = ['', '', ...names, 'our ±', 'target', ''];
  const rows = figures.map((figure) => [
    `${figure.item}`,
    titleOf(figure),
    ...names.map((name) => ratioOrValue({ results, name, figure })),
    spread(results.ratios(us, figure.id)),
    targetText(figure),
    figure.target ? (isJudged(figure) ? verdictText(results, figure) : 'not judged') : '',
  ]);
  const widths = head.map((_, column) => Math.max(...[head, ...rows].map((cells) => cells[column]?.length ?? 0)));
  // numbers are aligned right, text left
  const isNumber = (column: number) => column === 0 || (column > 1 && column < head.length - 2);
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => (isNumber(column) ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  return [head, ...rows].map(line).join('\n');
}

function ratioOrValue({ results, name, figure: { id, base, unit } }: Cell): string {
  const ratio = results.ratio(name, id);
  const value = results.value(name, id);
  if (value === undefined) return '';
  if (unit === '×') return `${short(value)} ×`;
  if (ratio === undefined || name === base) return short(value);
  return name === us ? `${short(ratio)} × (${short(value)})` : `${short(ratio)} ×`;
}

function spread(ratios: readonly number[]): string {
  return ratios.length > 1 ? percent(spreadOf(ratios)) : '';
}
