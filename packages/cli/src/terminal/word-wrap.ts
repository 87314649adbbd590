// Text that streams in, broken between words where the window ends. Colours in it take no room.
import { graphemesOf, graphemeWidth, textWidth } from './text-width.ts';

export interface WrapOutput {
  write(text: string): void;
  /** Asked anew for every word: windows change. */
  columns(): number;
}

/** Below this nothing is wrapped: the indent alone could fill the line. */
const MIN_COLUMNS = 20;
const ESC = '\u001b';
const token = new RegExp(`(${ESC}\\[[\\d;]*m)|(\\s+)|([^\\s${ESC}]+|${ESC})`, 'g');
const colourCode = new RegExp(`${ESC}\\[(\\d+)m`, 'g');
const ascii = /^[!-~]*$/;

/** Whole lines; what a line is broken into stands below its first word. */
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

/** Lines of at most `width` columns, each with its own colours; a longer word is cut. */
export function wrappedLines(text: string, width: number): string[] {
  const lines = [''];
  let used = 0;
  let space = '';
  /** Those after the space. */
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

/** Colours that go on in the next line end with each line and begin again in the next. */
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

  /** A line begins with `start`; the lines it is broken into begin with `indent`. */
  begin(start: string, indent: string): void {
    this.#output.write(start);
    this.#column = textWidth(start);
    this.#indent = indent;
  }

  /** A word is written when it is over. */
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

  /** Between wide letters, as of Chinese, a line may be broken too. */
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
    // a word longer than the window is broken by the terminal
    this.#column %= Math.max(room + 1, 1);
    this.#space = '';
    this.#word = '';
    this.#wordWidth = 0;
  }
}
