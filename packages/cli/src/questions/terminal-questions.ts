// Questions at the terminal, one at a time. Input typed before a question appears is discarded.
import { createInterface, type Interface } from 'node:readline/promises';
import type { Readable, Writable } from 'node:stream';
import { setImmediate } from 'node:timers/promises';

export interface Terminal {
  input: Readable & { isTTY?: boolean };
  output: Writable;
  /** Called for Ctrl-C while a question is open: a terminal in raw mode sends no signal. */
  interrupt(): void;
}

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

  /** Runs `work` when no other question is open. */
  inTurn<Answer>(work: () => Promise<Answer>): Promise<Answer> {
    const answer = this.#last.then(work);
    this.#last = answer.catch(() => {});
    return answer;
  }

  /** Resolves to `noAnswer` if the input ends. */
  async open<Answer>(
    signal: AbortSignal,
    noAnswer: Answer,
    talk: (question: OpenQuestion) => Promise<Answer>,
  ): Promise<Answer> {
    const { input, output, interrupt } = this.#terminal;
    signal.throwIfAborted();
    if (input.readableEnded || input.destroyed) return noAnswer;
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
      if (closed.signal.aborted) return noAnswer;
      throw error;
    } finally {
      lines.close();
    }
  }
}

async function dropEarlierInput(lines: Interface, isTerminal: boolean): Promise<void> {
  await setImmediate();
  await setImmediate(); // pending input is read between the two
  if (isTerminal) lines.write(null, { ctrl: true, name: 'e' });
  if (isTerminal) lines.write(null, { ctrl: true, name: 'u' });
}
