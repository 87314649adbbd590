// Wraps streamed text at words. Colour codes take no width.
import { graphemesOf, graphemeWidth, textWidth } from './text-width.ts';

export interface WrapOutput {
  write(text: string): void;
  /** Called for every word, because the window may be resized. */
  columns(): number;
}

/** Narrower windows are not wrapped: the indent alone could fill the line. */
const MIN_COLUMNS = 20;
const ESC = '\u001b';
const token = new RegExp(`(${ESC}\\[[\\d;]*m)|(\\s+)|([^\\s${ESC}]+|${ESC})`, 'g');
const colourCode = new RegExp(`${ESC}\\[(\\d+)m`, 'g');
const ascii = /^[!-~]*$/;

/** Wraps whole lines; continuation lines keep the indent. */
export function wrapped(text: string, columns: number): string {
  const shown: string[] = [];
  const wrap = new WordWrap({ write: (piece) => void shown.push(piece), columns: () => columns });
  for (const [index, line] of text.split('\n').entries()) {
    if (index > 0) shown.push('\n');
    const [indent = ''] = /^ */.exec(line) ?? [];
    wrap.begin(indent, indent);
    wrap.push(line.slice(indent.length));
    wrap.end();
  }
  return shown.join('');
}

/** Lines of at most `width` columns, each with its own colour codes. Longer words are broken. */
export function wrappedLines(text: string, width: number): string[] {
  const lines = [''];
  let used = 0;
  let space = '';
  /** Colour codes after the pending space. */
  let colours = '';
  const add = (piece: string) => {
    lines[lines.length - 1] += piece;
    used += textWidth(piece);
  };
  const endLine = () => {
    lines.push('');
    used = 0;
  };
  for (const [, colour, blank, letters = ''] of text.matchAll(token)) {
    if (colour !== undefined && space === '') add(colour);
    else if (colour !== undefined) colours += colour;
    else if (blank !== undefined) space = used > 0 ? ' ' : '';
    else {
      if (used > 0 && used + space.length + textWidth(letters) > width) endLine();
      else add(space);
      add(colours);
      colours = '';
      space = '';
      for (const { segment } of graphemesOf(letters)) {
        if (used > 0 && used + graphemeWidth(segment) > width) endLine();
        add(segment);
      }
    }
  }
  add(colours);
  return eachColoured(lines);
}

const colourEnds: Readonly<Record<string, RegExp>> = { 22: /^[12]$/, 23: /^3$/, 24: /^4$/, 39: /^3[0-7]$/ };

/** Colours that span lines are closed at the end of a line and reopened on the next. */
function eachColoured(lines: readonly string[]): string[] {
  let open: { code: string; end: string }[] = [];
  return lines.map((line) => {
    const before = open.map(({ code }) => `${ESC}[${code}m`).join('');
    for (const [, code = ''] of line.matchAll(colourCode)) {
      const end = Object.keys(colourEnds).find((each) => colourEnds[each]?.test(code));
      if (end === undefined) open = open.filter((each) => each.end !== code);
      else open.push({ code, end });
    }
    return before + line + open.map(({ end }) => `${ESC}[${end}m`).join('');
  });
}

export class WordWrap {
  readonly #output: WrapOutput;
  #indent = '';
  #column = 0;
  #space = '';
  #word = '';
  #wordWidth = 0;

  constructor(output: WrapOutput) {
    this.#output = output;
  }

  /** Begins a line with `start`; its continuation lines begin with `indent`. */
  begin(start: string, indent: string): void {
    this.#output.write(start);
    this.#column = textWidth(start);
    this.#indent = indent;
  }

  /** A word is written when it is complete. */
  push(text: string): void {
    for (const [, colour, space, letters = ''] of text.matchAll(token)) {
      if (colour !== undefined) this.#word += colour;
      else if (space === undefined) this.#addLetters(letters);
      else {
        this.#writeWord();
        this.#space += space;
      }
    }
  }

  end(): void {
    this.#writeWord();
    this.#space = '';
    this.#column = 0;
    this.#indent = '';
  }

  /** Lines can also break between wide characters, such as Chinese ones. */
  #addLetters(letters: string): void {
    if (ascii.test(letters)) {
      this.#word += letters;
      this.#wordWidth += letters.length;
      return;
    }
    for (const { segment } of graphemesOf(letters)) {
      const isWide = graphemeWidth(segment) > 1;
      if (isWide) this.#writeWord();
      this.#word += segment;
      this.#wordWidth += graphemeWidth(segment);
      if (isWide) this.#writeWord();
    }
  }

  #writeWord(): void {
    if (this.#word === '') return;
    const room = this.#output.columns() - 1; // a full line would wrap in some terminals
    const isTooLong = this.#column + this.#space.length + this.#wordWidth > room;
    const indentWidth = textWidth(this.#indent);
    if (this.#wordWidth > 0 && isTooLong && room >= MIN_COLUMNS && this.#column > indentWidth) {
      this.#output.write(`\n${this.#indent}${this.#word}`);
      this.#column = indentWidth + this.#wordWidth;
    } else {
      this.#output.write(this.#space + this.#word);
      this.#column += this.#space.length + this.#wordWidth;
    }
    // the terminal breaks a word that is longer than the window
    this.#column %= Math.max(room + 1, 1);
    this.#space = '';
    this.#word = '';
    this.#wordWidth = 0;
  }
}
