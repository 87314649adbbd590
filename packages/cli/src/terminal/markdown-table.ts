// The lines of a Markdown table in aligned columns. Cells wrap where the window is too narrow for them.
import { inlineMarkdown } from './markdown-inline.ts';
import type { Style } from './style.ts';
import { padded, textWidth } from './text-width.ts';
import { wrappedLines } from './word-wrap.ts';

const GAP = '  ';
/** Below this width a column of wrapped words cannot be read. */
const MIN_COLUMN = 10;

export function tableLines(lines: readonly string[], style: Style, columns: number): string[] {
  const [header = '', separator = '', ...body] = lines;
  if (!/^\|[\s:|-]+$/.test(separator)) return lines.map((line) => cell(line, style));
  const rows = [header, ...body].map((line, index) =>
    cellsOf(line).map((text) => (index === 0 ? style.bold(cell(text, style)) : cell(text, style))),
  );
  const alignments = cellsOf(separator).map(alignmentOf);
  const widths = fittingWidths(columnWidths(rows), columns);
  if (!widths) return rows.map((row) => row.join(style.dim(' | ')));
  const [head = [], ...shown] = rows.map((row) => rowLines(row, widths, alignments));
  return [...head, style.dim('─'.repeat(totalWidth(widths))), ...shown.flat()];
}

type Alignment = ReturnType<typeof alignmentOf>;

/** As many lines as the cell with most words needs. */
function rowLines(row: readonly string[], widths: readonly number[], alignments: readonly Alignment[]): string[] {
  const parts = row.map((text, index) => wrappedLines(text, widths[index] ?? 0));
  const height = Math.max(...parts.map((lines) => lines.length));
  return Array.from({ length: height }, (_, line) =>
    widths
      .map((width, index) => padded(parts[index]?.[line] ?? '', width, alignments[index]))
      .join(GAP)
      .trimEnd(),
  );
}

/** The widest columns shrink to one width; undefined when that would be too narrow. */
function fittingWidths(widths: number[], columns: number): number[] | undefined {
  if (totalWidth(widths) <= columns) return widths;
  for (let widest = columns; widest >= MIN_COLUMN; widest--) {
    const fitting = widths.map((width) => Math.min(width, widest));
    if (totalWidth(fitting) <= columns) return fitting;
  }
  return undefined;
}

function totalWidth(widths: readonly number[]): number {
  return widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
}

/** How wide each column must be for its widest cell. */
export function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, text] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, textWidth(text));
  }
  return widths;
}

function alignmentOf(marks: string): 'left' | 'right' | 'center' {
  if (!marks.endsWith(':')) return 'left';
  return marks.startsWith(':') ? 'center' : 'right';
}

function cell(text: string, style: Style): string {
  return inlineMarkdown(text, { style, isOver: true }).shown;
}

function cellsOf(line: string): string[] {
  const inner = line.trim().replace(/^\|/, '').replace(/\|$/, '');
  return inner.split(/(?<!\\)\|/).map((text) => text.trim().replaceAll('\\|', '|'));
}
