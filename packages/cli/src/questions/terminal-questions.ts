// Questions to the person at the terminal: one at a time, and what was typed before one is no answer to it.
import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable;
  /** Ctrl-C while a question is open: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

/** A question that is open. */
export interface OpenQuestion {
  lines: Interface;
  output: Writable;
  isTerminal: boolean;
  signal: AbortSignal;
}

export class TerminalQuestions {
  readonly #terminal: Terminal;
  #last: Promise<unknown> = Promise.resolve();

  constructor(terminal: Terminal) {
    this.#terminal = terminal;
  }

  /** Runs `work` when nobody else asks. */
  inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const answer = this.#last.then(work);
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** `nobody` is the answer when the input has ended, or ends. */
  async open<Answer>(
    signal: AbortSignal,
    nobody: Answer,
    talk: (question: OpenQuestion) => Promise<Answer>,
  ): Promise<Answer> {
    const { input, output, interrupt } = this.#terminal;
    signal.throwIfAborted();
    if (input.readableEnded || input.destroyed) return nobody;
    const isTerminal = input.isTTY === true;
    const lines = createInterface({ input, output, terminal: isTerminal, historySize: 0, prompt: '' });
    const closed = new AbortController();
    lines.once('close', () => closed.abort());
    lines.on('SIGINT', interrupt);
    try {
      await dropEarlierInput(lines, isTerminal);
      return await talk({ lines, output, isTerminal, signal: AbortSignal.any([signal, closed.signal]) });
    } catch (error) {
      output.write('\n');
      signal.throwIfAborted();
      if (closed.signal.aborted) return nobody;
      throw error;
    } finally {
      lines.close();
    }
  }
}

async function dropEarlierInput(lines: Interface, isTerminal: boolean): Promise<void> {
  await setImmediate();
  await setImmediate(); // between the two, all that waits is read
  if (isTerminal) lines.write(null, { ctrl: true, name: 'e' });
  if (isTerminal) lines.write(null, { ctrl: true, name: 'u' });
}
