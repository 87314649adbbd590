// Markdown as it streams in, shown in a terminal: words appear as they come, a fence or a table line by line.
import { inlineMarkdown } from './markdown-inline.ts';
import { tableLines } from './markdown-table.ts';
import type { Style } from './style.ts';

export interface MarkdownOutput {
  style: Style;
  write(text: string): void;
  /** Asked anew for every table: windows change. */
  columns(): number;
}

const MOST_TABLE_LINES = 200;

/** What a line is, as soon as that can be told: text flows, the rest is shown when the line is over. */
type Line = { kind: 'whole' } | { kind: 'flowing'; shown: string; from: number; emphasis?: (text: string) => string };

export class MarkdownStream {
  readonly #output: MarkdownOutput;
  #text = '';
  #line: Line | undefined;
  /** How much of a flowing line was shown. */
  #shown = 0;
  #fence: string | undefined;
  #table: string[] = [];

  constructor(output: MarkdownOutput) {
    this.#output = output;
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
    this.#output.write(line.shown);
    this.#shown = line.from;
    return line;
  }

  #flow({ from, emphasis }: Line & { kind: 'flowing' }, isOver: boolean): void {
    const { style, write } = this.#output;
    const before = this.#shown > from ? this.#text[this.#shown - 1] : undefined;
    const { shown, used } = inlineMarkdown(this.#text.slice(this.#shown), { style, isOver, before, emphasis });
    this.#shown += used;
    if (shown) write(shown);
  }

  #endLine(): void {
    const text = this.#text;
    const { style, write } = this.#output;
    this.#line ??= this.#startLine(true);
    if (this.#line?.kind === 'flowing') {
      this.#flow(this.#line, true);
      write('\n');
    } else if (this.#fence !== undefined) {
      this.#fenceLine(text, this.#fence);
    } else if (text.startsWith('|')) {
      this.#table.push(text);
      if (this.#table.length > MOST_TABLE_LINES) this.#endTable();
    } else {
      this.#endTable();
      this.#fence = /^\s*(`{3,}|~{3,})/.exec(text)?.[1];
      if (this.#fence !== undefined) write(`${style.dim(text.trim())}\n`);
      else write(text.trim() === '' ? '\n' : `${style.dim('─'.repeat(Math.min(40, this.#output.columns())))}\n`);
    }
    this.#text = '';
    this.#line = undefined;
    this.#shown = 0;
  }

  #fenceLine(text: string, fence: string): void {
    const { style, write } = this.#output;
    const isEnd = text.trim().length >= fence.length && text.trim() === fence[0]?.repeat(text.trim().length);
    write(`${isEnd ? style.dim(text.trim()) : style.cyan(text)}\n`);
    if (isEnd) this.#fence = undefined;
  }

  #endTable(): void {
    const lines = this.#table.splice(0);
    if (lines.length === 0) return;
    const { style, write, columns } = this.#output;
    for (const line of tableLines(lines, style, columns())) write(`${line}\n`);
  }
}

/** Undefined while the line may still become something else. */
function readLine(text: string, style: Style, isOver: boolean): Line | undefined {
  const isRule = /^ {0,3}(?:(?:-\s*){3,}|(?:\*\s*){3,}|(?:_\s*){3,})$/.test(text);
  if (isOver && (isRule || text.trim() === '')) return { kind: 'whole' };
  if (/^ {0,3}(?:`{3}|~{3})/.test(text)) return { kind: 'whole' };
  if (!isOver && /^\s*(?:#{1,6}|`{1,2}|~{1,2}|[-*_][-*_ ]*|\+|\d{1,9}[.)]?)?$/.test(text)) return undefined;
  const start = readStart(text, style);
  // the space after a mark belongs to it, however much of it comes
  if (start.from === text.length && !isOver) return undefined;
  return { kind: 'flowing', ...start };
}

function readStart(text: string, style: Style): Omit<Line & { kind: 'flowing' }, 'kind'> {
  const [heading, marks] = /^ {0,3}(#{1,6})\s+/.exec(text) ?? [];
  if (heading) {
    const emphasis = marks === '#' ? (piece: string) => style.bold(style.underline(piece)) : style.bold;
    return { shown: '', from: heading.length, emphasis };
  }
  const [quote] = /^\s*(?:>\s?)+/.exec(text) ?? [];
  if (quote) return { shown: style.dim('│ '.repeat(quote.split('>').length - 1)), from: quote.length };
  const [item, indent] = /^(\s*)[-*+]\s+/.exec(text) ?? [];
  if (item) return { shown: `${indent}${style.cyan('•')} `, from: item.length };
  const [numbered] = /^\s*\d{1,9}[.)]\s+/.exec(text) ?? [];
  if (numbered) return { shown: `${style.cyan(numbered.trimEnd())} `, from: numbered.length };
  return { shown: '', from: 0 };
}
