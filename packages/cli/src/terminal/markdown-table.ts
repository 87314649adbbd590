// Renders a Markdown table in aligned columns. Cells wrap if the window is too narrow.
import { inlineMarkdown } from './markdown-inline.ts';
import type { Style } from './style.ts';
import { columnWidths, padded } from './text-width.ts';
import { wrappedLines } from './word-wrap.ts';

const GAP = '  ';
/** Narrower columns are unreadable. */
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

/** The lines of a row: as many as its tallest cell needs. */
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

/** Shrinks the widest columns to the same width; undefined if they would be too narrow. */
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
