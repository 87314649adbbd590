// Renders streamed Markdown in a terminal: text word by word, code line by line, tables as a whole.
import { colouredCode } from './code-colours.ts';
import { inlineMarkdown } from './markdown-inline.ts';
import { tableLines } from './markdown-table.ts';
import type { Style } from './style.ts';
import { textWidth } from './text-width.ts';
import { WordWrap } from './word-wrap.ts';

export interface MarkdownOutput {
  style: Style;
  write(text: string): void;
  /** Called for every table, because the window may be resized. */
  columns(): number;
}

const MAX_TABLE_LINES = 200;

/** The kind of a line, once known. Flowing text is shown immediately, other lines when they are complete. */
type Line =
  | { kind: 'whole' }
  | { kind: 'flowing'; shown: string; indent: string; from: number; emphasis?: (text: string) => string };

interface Fence {
  mark: string;
  /** The text after the mark; its first word is the language. */
  info: string;
}

export class MarkdownStream {
  readonly #output: MarkdownOutput;
  readonly #wrap: WordWrap;
  #text = '';
  #line: Line | undefined;
  /** How many characters of a flowing line were shown. */
  #shown = 0;
  #fence: Fence | undefined;
  #table: string[] = [];

  constructor(output: MarkdownOutput) {
    this.#output = output;
    this.#wrap = new WordWrap(output);
  }

  /** The text must be safe to print. */
  push(text: string): void {
    const [first = '', ...rest] = text.split('\n');
    this.#add(first);
    for (const piece of rest) {
      this.#endLine();
      this.#add(piece);
    }
  }

  end(): void {
    if (this.#text !== '') this.#endLine();
    this.#endTable();
    this.#fence = undefined;
  }

  #add(piece: string): void {
    if (piece === '') return;
    this.#text += piece;
    this.#line ??= this.#startLine(false);
    if (this.#line?.kind === 'flowing') this.#flow(this.#line, false);
  }

  #startLine(isOver: boolean): Line | undefined {
    if (this.#fence !== undefined || this.#text.startsWith('|')) return { kind: 'whole' };
    const line = readLine(this.#text, this.#output.style, isOver);
    if (line?.kind !== 'flowing') return line;
    this.#endTable();
    this.#wrap.begin(line.shown, line.indent);
    this.#shown = line.from;
    return line;
  }

  #flow({ from, emphasis }: Line & { kind: 'flowing' }, isOver: boolean): void {
    const { style } = this.#output;
    const before = this.#shown > from ? this.#text[this.#shown - 1] : undefined;
    const { shown, used } = inlineMarkdown(this.#text.slice(this.#shown), { style, isOver, before, emphasis });
    this.#shown += used;
    this.#wrap.push(shown);
  }

  #endLine(): void {
    const text = this.#text;
    const { style, write } = this.#output;
    this.#line ??= this.#startLine(true);
    if (this.#line?.kind === 'flowing') {
      this.#flow(this.#line, true);
      this.#wrap.end();
      write('\n');
    } else if (this.#fence !== undefined) {
      this.#fenceLine(text, this.#fence);
    } else if (text.startsWith('|')) {
      this.#table.push(text);
      if (this.#table.length > MAX_TABLE_LINES) this.#endTable();
    } else {
      this.#endTable();
      this.#fence = fenceOf(text);
      if (this.#fence !== undefined) write(`${style.dim(`┌ ${this.#fence.info || 'code'}`)}\n`);
      else write(text.trim() === '' ? '\n' : `${style.dim('─'.repeat(Math.min(40, this.#output.columns())))}\n`);
    }
    this.#text = '';
    this.#line = undefined;
    this.#shown = 0;
  }

  #fenceLine(text: string, { mark, info }: Fence): void {
    const { style, write } = this.#output;
    const isEnd = text.trim().length >= mark.length && text.trim() === mark[0]?.repeat(text.trim().length);
    write(`${isEnd ? style.dim('└') : colouredCode(text, /^[^\s{]*/.exec(info)?.[0] ?? '', style)}\n`);
    if (isEnd) this.#fence = undefined;
  }

  #endTable(): void {
    const lines = this.#table.splice(0);
    if (lines.length === 0) return;
    const { style, write, columns } = this.#output;
    for (const line of tableLines(lines, style, columns())) write(`${line}\n`);
  }
}

function fenceOf(text: string): Fence | undefined {
  const [, mark, info = ''] = /^\s*(`{3,}|~{3,})(.*)/.exec(text) ?? [];
  return mark === undefined ? undefined : { mark, info: info.trim() };
}

/** A longer line is text. This bounds the work per character of the checks below. */
const MAX_MARK = 1_000;

/** Undefined while the kind of the line is still open. */
function readLine(text: string, style: Style, isOver: boolean): Line | undefined {
  const isRule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/.test(text);
  if (isOver && (isRule || text.trim() === '')) return { kind: 'whole' };
  if (/^ {0,3}(?:`{3}|~{3})/.test(text)) return { kind: 'whole' };
  const mayGrow = !isOver && text.length <= MAX_MARK;
  if (mayGrow && /^\s*(?:#{1,6}|`{1,2}|~{1,2}|[-*_][-*_ ]*|\+|\d{1,9}[.)]?)?$/.test(text)) return undefined;
  const start = readStart(text, style);
  // all spaces after a mark belong to the mark
  if (start.from === text.length && mayGrow) return undefined;
  return { kind: 'flowing', ...start };
}

type Start = Omit<Line & { kind: 'flowing' }, 'kind'>;

function readStart(text: string, style: Style): Start {
  const [heading, marks] = /^ {0,3}(#{1,6})\s+/.exec(text) ?? [];
  if (heading) {
    const emphasis = marks === '#' ? (piece: string) => style.bold(style.underline(piece)) : style.bold;
    return { shown: '', indent: '', from: heading.length, emphasis };
  }
  const [quote] = /^\s*(?:>\s?)+/.exec(text) ?? [];
  if (quote) {
    const shown = style.dim('│ '.repeat(quote.split('>').length - 1));
    return { shown, indent: shown, from: quote.length };
  }
  const [item, indent] = /^(\s*)[-*+]\s+/.exec(text) ?? [];
  if (item) return listItem(`${indent}${style.cyan('•')} `, item);
  const [numbered] = /^\s*\d{1,9}[.)]\s+/.exec(text) ?? [];
  if (numbered) return listItem(`${style.cyan(numbered.trimEnd())} `, numbered);
  return { shown: '', indent: '', from: 0 };
}

function listItem(shown: string, mark: string): Start {
  return { shown, indent: ' '.repeat(textWidth(shown)), from: mark.length };
}
