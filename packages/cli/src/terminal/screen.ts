// Writes to the terminal while an agent runs: the answer on stdout, the rest on stderr, and temporary status lines below.
import { canMoveCursor } from './style.ts';
import { fitted } from './text-width.ts';
import { wrapped } from './word-wrap.ts';

export interface ScreenOutput {
  write(text: string): unknown;
  isTTY?: boolean;
  columns?: number;
  on?(event: 'resize', listener: () => void): unknown;
  off?(event: 'resize', listener: () => void): unknown;
}

const REDRAW_MS = 50;
const DEFAULT_COLUMNS = 80;

export class Screen {
  readonly #out: ScreenOutput;
  readonly #err: ScreenOutput;
  readonly #held: (() => void)[] = [];
  readonly #resized = () => this.#redraw();
  #isMidLine = false;
  #questions = 0;
  #status: readonly string[] = [];
  #drawn = 0;
  #drawnAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;

  constructor(out: ScreenOutput, err: ScreenOutput) {
    this.#out = out;
    this.#err = err;
    if (this.hasStatus) err.on?.('resize', this.#resized);
  }

  /** Whether status lines can be shown. */
  get hasStatus(): boolean {
    return canMoveCursor(this.#err);
  }

  get columns(): number {
    // a terminal of unknown size reports 0
    return this.#out.columns || this.#err.columns || DEFAULT_COLUMNS;
  }

  /** Writes a part of the answer. */
  answer(text: string): void {
    if (text === '') return;
    this.#write(() => {
      this.#out.write(text);
      this.#isMidLine = this.#out.isTTY === true && !text.endsWith('\n');
    });
  }

  /** Ends the current line of the answer. */
  endLine(): void {
    if (this.#isMidLine) this.answer('\n');
  }

  /** Wraps at words; the terminal itself breaks lines anywhere. */
  wrapped(text: string): string {
    return this.hasStatus ? wrapped(text, this.columns) : text;
  }

  line(text: string): void {
    this.#write(() => {
      if (this.#isMidLine) this.#out.write('\n');
      this.#isMidLine = false;
      this.#err.write(`${this.wrapped(text)}\n`);
    });
  }

  /** Shows lines below everything else until they are replaced. */
  status(lines: readonly string[]): void {
    if (!this.hasStatus) return;
    this.#status = lines;
    const wait = this.#drawnAt + REDRAW_MS - performance.now();
    if (wait <= 0 || lines.length === 0) this.#redraw();
    else this.#timer ??= setTimeout(() => this.#redraw(), wait).unref();
  }

  /** Holds back all other output while a question is open. */
  async question<Answer>(ask: () => Promise<Answer>): Promise<Answer> {
    this.#erase();
    this.endLine();
    this.#questions++;
    try {
      return await ask();
    } finally {
      this.#questions--;
      if (this.#questions === 0) for (const write of this.#held.splice(0)) this.#write(write);
    }
  }

  close(): void {
    this.status([]);
    this.endLine();
    this.#err.off?.('resize', this.#resized);
  }

  #write(write: () => void): void {
    if (this.#questions > 0) {
      this.#held.push(write);
      return;
    }
    this.#erase();
    write();
    this.#draw();
  }

  #redraw(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#questions > 0) return;
    this.#erase();
    this.#draw();
  }

  #erase(): void {
    if (this.#drawn === 0) return;
    const up = this.#drawn > 1 ? `\u001b[${this.#drawn - 1}A` : '';
    this.#err.write(`\r${up}\u001b[J`);
    this.#drawn = 0;
  }

  #draw(): void {
    if (this.#status.length === 0 || this.#isMidLine) return;
    // leave one column free: a full line would wrap
    const lines = this.#status.map((line) => fitted(line, this.columns - 1));
    this.#err.write(lines.join('\n'));
    this.#drawn = lines.length;
    this.#drawnAt = performance.now();
  }
}
