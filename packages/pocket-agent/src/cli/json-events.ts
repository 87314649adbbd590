// A run as JSON lines on stdout, for programs. The shape is documented in docs/command-line.md and stays as it is.
import type { RunTotals } from '../budget.ts';
import { errorText, isPocketError } from '../errors.ts';
import type { AgentEvent } from '../events.ts';
import type { ToolResult } from '../tools.ts';
import { printableJson } from './printable.ts';
import type { Display } from './run-display.ts';

/** Grows when something that was there is changed or goes. */
const FORMAT = 1;

export class JsonEvents implements Display {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  start(data: { model: string; session?: string | undefined }): void {
    this.#line({ type: 'run_started', data: { format: FORMAT, ...data } });
  }

  show({ type, data, meta }: AgentEvent): void {
    // a message is the same again, as the history keeps it; for the end of a run see `answer`
    if (type === 'new_message' || type === 'run_finished') return;
    this.#line({ type, path: meta.path, data: type === 'tool_result' ? withoutExtra(data) : data });
  }

  answer(text: string, totals: RunTotals): void {
    this.#line({ type: 'answer', data: { text, usage: totals.usage }, exitCode: 0 });
  }

  error(error: unknown, exitCode: number): void {
    const code = isPocketError(error) ? error.code : 'FAILED';
    this.#line({ type: 'error', data: { code, message: errorText(error) }, exitCode });
  }

  end(): void {}

  /** A program reads events; what is meant for people is not among them. */
  tell(): void {}

  #line(value: object): void {
    this.#write(`${printableJson(value)}\n`);
  }
}

function withoutExtra({ extra: _raw, isError = false, ...data }: ToolResult): object {
  return { ...data, isError };
}
