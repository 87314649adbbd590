// A run as JSON lines on stdout, for programs. The format is documented in docs/command-line.md.

import { errorText, isPocketError, printableJson } from '@pocket-agent/kit';
import type { AgentEvent, RunTotals, ToolResult } from 'pocket-agent';
import type { Display } from './run-display.ts';

/** Increased when a field changes or is removed. */
const FORMAT = 1;

/** Left out: `run_started`, `answer` and `error` lines and the other events carry the same data. */
const redundant = new Set<string>(['new_message', 'run_started', 'run_finished', 'run_failed']);

export class JsonEvents implements Display {
  readonly #write: (line: string) => void;

  constructor(write: (line: string) => void) {
    this.#write = write;
  }

  start(data: { model: string; session?: string | undefined }): void {
    this.#line({ type: 'run_started', data: { format: FORMAT, ...data } });
  }

  show({ type, data, meta }: AgentEvent): void {
    if (redundant.has(type)) return;
    const { path, time, runId } = meta;
    this.#line({
      type,
      path,
      time,
      runId,
      data: type === 'tool_result' ? withoutExtra(data) : data,
    });
  }

  /** A value that is not text also comes as JSON text. */
  answer(answer: unknown, { totals, exitCode }: { totals: RunTotals; exitCode: number }): void {
    const data = typeof answer === 'string' ? { text: answer } : { text: printableJson(answer), value: answer };
    this.#line({ type: 'answer', data: { ...data, usage: totals.usage }, exitCode });
  }

  error(error: unknown, exitCode: number): void {
    const code = isPocketError(error) ? error.code : 'FAILED';
    this.#line({ type: 'error', data: { code, message: errorText(error) }, exitCode });
  }

  end(): void {}

  #line(value: object): void {
    this.#write(`${printableJson(value)}\n`);
  }
}

function withoutExtra({ extra: _raw, isError = false, ...data }: ToolResult): object {
  return { ...data, isError };
}
