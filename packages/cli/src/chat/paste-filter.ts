// Filters terminal input so that pasted text stays one message; its line breaks are shown as ␤.
import { Transform, type TransformCallback } from 'node:stream';

const START = '\u001b[200~';
const END = '\u001b[201~';

/** Bracketed paste mode: the terminal marks pasted text. */
export const enablePasteMarks = '\u001b[?2004h';
export const disablePasteMarks = '\u001b[?2004l';

const LINE_BREAK = '␤';
const TAB = '␉';

/** A message as one editable line. */
export function asOneLine(text: string): string {
  return text
    .replace(/\r\n|\r|\n/g, LINE_BREAK)
    .replaceAll('\t', TAB)
    .replace(/\p{Cc}/gu, '');
}

export function fromOneLine(line: string): string {
  return line.replaceAll(LINE_BREAK, '\n').replaceAll(TAB, '\t');
}

export class PasteFilter extends Transform {
  readonly isTTY = true;
  readonly #terminal: NodeJS.ReadStream;
  readonly #decoder = new TextDecoder();
  #held = '';
  #isPasting = false;

  constructor(terminal: NodeJS.ReadStream) {
    super();
    this.#terminal = terminal;
  }

  get isRaw(): boolean {
    return this.#terminal.isRaw;
  }

  setRawMode(mode: boolean): this {
    this.#terminal.setRawMode(mode);
    return this;
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, done: TransformCallback): void {
    let text = this.#held + this.#decoder.decode(chunk, { stream: true });
    this.#held = '';
    while (text !== '') {
      const mark = this.#isPasting ? END : START;
      const found = text.indexOf(mark);
      const open = found < 0 ? partialMark(mark, text) : 0;
      const piece = text.slice(0, found < 0 ? text.length - open : found);
      if (piece) this.push(this.#isPasting ? asOneLine(piece) : piece);
      if (found < 0) {
        this.#held = text.slice(text.length - open);
        break;
      }
      this.#isPasting = !this.#isPasting;
      text = text.slice(found + mark.length);
    }
    done();
  }
}

/** The length of the text's end that may be the beginning of a mark. A single Escape is a key press. */
function partialMark(mark: string, text: string): number {
  for (let length = Math.min(mark.length - 1, text.length); length > 1; length--) {
    if (text.endsWith(mark.slice(0, length))) return length;
  }
  return 0;
}
