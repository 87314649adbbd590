// The lines of a Markdown table in columns that stand below each other, where the window is wide enough.
import { inlineMarkdown } from './markdown-inline.ts';
import type { Style } from './style.ts';
import { padded, textWidth } from './text-width.ts';

const GAP = '  ';

export function tableLines(lines: readonly string[], style: Style, columns: number): string[] {
  const [header = '', separator = '', ...body] = lines;
  if (!/^\|[\s:|-]+$/.test(separator)) return lines.map((line) => cell(line, style));
  const rows = [header, ...body].map((line, index) =>
    cellsOf(line).map((text) => (index === 0 ? style.bold(cell(text, style)) : cell(text, style))),
  );
  const alignments = cellsOf(separator).map(alignmentOf);
  const widths = columnWidths(rows);
  const total = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length);
  if (total > columns) return rows.map((row) => row.join(style.dim(' | ')));
  const shown = rows.map((row) =>
    row
      .map((text, index) => padded(text, widths[index] ?? 0, alignments[index]))
      .join(GAP)
      .trimEnd(),
  );
  return [shown[0] ?? '', style.dim('─'.repeat(total)), ...shown.slice(1)];
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
