// Markdown as it streams in, shown in a terminal: words appear as they come, a fence or a table line by line.
import { colouredCode } from './code-colours.ts';
import { inlineMarkdown } from './markdown-inline.ts';
import { tableLines } from './markdown-table.ts';
import type { Style } from './style.ts';
import { textWidth } from './text-width.ts';
import { WordWrap } from './word-wrap.ts';

export interface MarkdownOutput {
  style: Style;
  write(text: string): void;
  /** Asked anew for every table: windows change. */
  columns(): number;
}

const MOST_TABLE_LINES = 200;

/** What a line is, as soon as that can be told: text flows, the rest is shown when the line is over. */
type Line =
  | { kind: 'whole' }
  | { kind: 'flowing'; shown: string; indent: string; from: number; emphasis?: (text: string) => string };

interface Fence {
  mark: string;
  /** What stands behind the mark; its first word names the language. */
  info: string;
}

export class MarkdownStream {
  readonly #output: MarkdownOutput;
  readonly #wrap: WordWrap;
  #text = '';
  #line: Line | undefined;
  /** How much of a flowing line was shown. */
  #shown = 0;
  #fence: Fence | undefined;
  #table: string[] = [];

  constructor(output: MarkdownOutput) {
    this.#output = output;
    this.#wrap = new WordWrap(output);
  }

  /** The text must be harmless already. */
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
      if (this.#table.length > MOST_TABLE_LINES) this.#endTable();
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

/** What begins with more than this is text: every new character would be looked at together with all before it. */
const LONGEST_MARK = 1_000;

/** Undefined while the line may still become something else. */
function readLine(text: string, style: Style, isOver: boolean): Line | undefined {
  const isRule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/.test(text);
  if (isOver && (isRule || text.trim() === '')) return { kind: 'whole' };
  if (/^ {0,3}(?:`{3}|~{3})/.test(text)) return { kind: 'whole' };
  const mayGrow = !isOver && text.length <= LONGEST_MARK;
  if (mayGrow && /^\s*(?:#{1,6}|`{1,2}|~{1,2}|[-*_][-*_ ]*|\+|\d{1,9}[.)]?)?$/.test(text)) return undefined;
  const start = readStart(text, style);
  // the space after a mark belongs to it, however much of it comes
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
