// Reads chat messages: line editing, completion, history, and pasted text as one message.
import { createInterface } from 'node:readline';
import { onAbort } from '@pocket-agent/kit';
import { canMoveCursor } from '../terminal/style.ts';
import type { ChatHistory } from './chat-history.ts';
import { asOneLine, disablePasteMarks, enablePasteMarks, fromOneLine, PasteFilter } from './paste-filter.ts';

export type Completer = (line: string) => [matches: string[], completed: string];

export interface ChatInputOptions {
  input: NodeJS.ReadStream;
  output: NodeJS.WriteStream;
  history: ChatHistory;
  complete: Completer;
}

export type Typed = { kind: 'message'; text: string } | { kind: 'interrupt'; hadText: boolean } | { kind: 'end' };

interface Line {
  kind: 'line' | 'interrupt' | 'end';
  text: string;
}

const noCompletion: Completer = (line) => [[], line];

export class ChatInput {
  readonly #options: ChatInputOptions;
  /** Complete lines typed ahead of the prompt, and the beginning of the next one. */
  readonly #ahead: string[] = [];
  #partial = '';

  constructor(options: ChatInputOptions) {
    this.#options = options;
  }

  /** Reads one message. A line that ends with a backslash continues on the next line. */
  async read(prompt: string, signal: AbortSignal): Promise<Typed> {
    const parts: string[] = [];
    for (;;) {
      const { kind, text } = await this.#line(parts.length === 0 ? prompt : '… ', signal, true);
      if (kind === 'interrupt') return { kind, hadText: text !== '' || parts.length > 0 };
      if (kind === 'end') return { kind };
      const continues = /(?<!\\)(?:\\\\)*\\$/.test(text);
      parts.push(continues ? text.slice(0, -1) : text);
      if (continues) continue;
      const message = fromOneLine(parts.join('\n')).trim();
      if (message === '') {
        parts.length = 0;
        continue;
      }
      await this.#options.history.add(message);
      return { kind: 'message', text: message };
    }
  }

  /** Undefined if there was no answer. */
  async confirm(question: string, signal: AbortSignal): Promise<boolean | undefined> {
    for (;;) {
      const { kind, text } = await this.#line(`${question} y(es) / n(o)? `, signal, false);
      if (kind !== 'line') return undefined;
      if (/^y(es)?$/i.test(text.trim())) return true;
      if (/^no?$/i.test(text.trim())) return false;
    }
  }

  async #line(prompt: string, signal: AbortSignal, isMessage: boolean): Promise<Line> {
    const { input, output, history, complete } = this.#options;
    const early = this.#ahead.shift();
    if (early !== undefined) {
      output.write(`${prompt}${early}\n`);
      return { kind: 'line', text: early };
    }
    const hasKeys = canMoveCursor(output);
    const keys = new PasteFilter(input);
    const lines = createInterface({
      input: hasKeys ? keys : input,
      output,
      terminal: hasKeys,
      prompt,
      history: isMessage ? history.entries.map(asOneLine).reverse() : [],
      historySize: isMessage ? history.entries.length + 1 : 0,
      completer: isMessage ? complete : noCompletion,
      removeHistoryDuplicates: true,
    });
    const typed = Promise.withResolvers<Line>();
    let isAnswered = false;
    lines.on('line', (text) => {
      if (isAnswered) this.#ahead.push(text);
      else typed.resolve({ kind: 'line', text });
      isAnswered = true;
    });
    lines.on('SIGINT', () => typed.resolve({ kind: 'interrupt', text: lines.line }));
    lines.on('close', () => typed.resolve({ kind: 'end', text: '' }));
    const removeListener = onAbort(signal, () => typed.resolve({ kind: 'interrupt', text: '' }));
    try {
      if (hasKeys) {
        input.pipe(keys);
        output.write(enablePasteMarks);
      }
      lines.prompt();
      if (hasKeys && this.#partial) lines.write(this.#partial);
      this.#partial = '';
      const line = await typed.promise;
      if (line.kind === 'line') this.#partial = lines.line;
      else output.write('\n');
      return line;
    } finally {
      removeListener();
      lines.close();
      input.unpipe(keys);
      input.pause();
      if (hasKeys) output.write(disablePasteMarks);
    }
  }
}
