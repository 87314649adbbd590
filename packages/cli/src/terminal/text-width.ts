// Measures the width of text in terminal columns; truncates and pads to a width, and aligns columns.
import { stripVTControlCharacters } from 'node:util';

let segmenter: Intl.Segmenter | undefined;
const emoji = /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/u;
const wide =
  /^[\u1100-\u115f\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\u9fff\ua000-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}]/u;
const plain = /^[\u0020-\u007e]*$/;

/** Created on first use: it takes 20 ms, and most texts do not need it. */
export function graphemesOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter(undefined, { granularity: 'grapheme' });
  return segmenter.segment(text);
}

export function textWidth(text: string): number {
  const visible = stripVTControlCharacters(text);
  if (plain.test(visible)) return visible.length;
  let width = 0;
  for (const { segment } of graphemesOf(visible)) width += graphemeWidth(segment);
  return width;
}

export function padded(text: string, columns: number, align: 'left' | 'right' | 'center' = 'left'): string {
  const free = Math.max(0, columns - textWidth(text));
  const before = align === 'left' ? 0 : align === 'right' ? free : Math.floor(free / 2);
  return ' '.repeat(before) + text + ' '.repeat(free - before);
}

/** Truncates to `columns`, ending in `…`. For text without escape sequences. */
export function fitted(text: string, columns: number): string {
  if (textWidth(text) <= columns) return text;
  let fitting = '';
  let width = 0;
  for (const { segment } of graphemesOf(text)) {
    width += graphemeWidth(segment);
    if (width > columns - 1) break;
    fitting += segment;
  }
  return `${fitting}…`;
}

export function graphemeWidth(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cc}\p{Cf}]/u.test(grapheme)) return 0;
  return emoji.test(grapheme) || wide.test(grapheme) ? 2 : 1;
}

/** Rows of cells as lines with aligned columns. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = columnWidths(rows.map((row) => row.slice(0, -1)));
  return rows.map((row) => row.map((cell, index) => padded(cell, widths[index] ?? 0)).join('  '));
}

/** The width of the widest cell in each column. */
export function columnWidths(rows: readonly (readonly string[])[]): number[] {
  const widths: number[] = [];
  for (const row of rows) {
    for (const [index, text] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, textWidth(text));
  }
  return widths;
}
