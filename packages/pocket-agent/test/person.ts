// A person at a terminal: reads the output, and types an answer when the expected text has appeared.
import { PassThrough } from 'node:stream';
import { TerminalQuestions } from '../../cli/src/questions/terminal-questions.ts';

export class Person {
  readonly input = new PassThrough();
  readonly output = new PassThrough();
  readonly questions = new TerminalQuestions({ input: this.input, output: this.output, interrupt: () => {} });
  seen = '';
  #read = 0;
  #wake = () => {};

  constructor() {
    this.output.setEncoding('utf8').on('data', (text: string) => {
      this.seen += text;
      this.#wake();
    });
  }

  async reads(text: string): Promise<void> {
    while (this.seen.indexOf(text, this.#read) < 0) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
    this.#read = this.seen.indexOf(text, this.#read) + text.length;
  }

  async types(after: string, line: string): Promise<void> {
    await this.reads(after);
    this.input.write(`${line}\n`);
  }
}
