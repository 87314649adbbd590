// The clock of one tool call: cancels it when it is idle for too long, or runs too long in all.
import { MAX_TIMER_MS, onAbort, PocketError } from '@pocket-agent/kit';

export interface CallClockOptions {
  /** For the text of an error. */
  tool: string;
  /** Where the tool is: an MCP server or a tool folder. */
  server: string;
  signal: AbortSignal;
  /** Without activity. */
  timeoutMs: number;
  /** In all, from `startedAt` on. */
  maxTimeoutMs: number;
  /** By `performance.now()`; default now. A call that is sent again has only what is left of its time. */
  startedAt?: number;
  /** While it returns true, the call does not count as silent. */
  isPaused?(): boolean;
}

export class CallClock {
  /** The call is over. */
  isStopped = false;
  readonly #options: CallClockOptions;
  readonly #latest: number;
  readonly #controller = new AbortController();
  readonly #removeListener: () => void;
  #timer: NodeJS.Timeout | undefined;
  #lastActivity = performance.now();

  constructor(options: CallClockOptions) {
    this.#options = options;
    this.#latest = (options.startedAt ?? this.#lastActivity) + options.maxTimeoutMs;
    this.#removeListener = onAbort(options.signal, (reason) => this.#controller.abort(reason));
    this.#startTimer(this.#dueAt - this.#lastActivity);
  }

  /** Aborted when the call is cancelled or has timed out. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The tool was active. */
  extend(): void {
    this.#lastActivity = performance.now();
  }

  stop(): void {
    this.isStopped = true;
    clearTimeout(this.#timer);
    this.#removeListener();
  }

  #startTimer(leftMs: number): void {
    this.#timer = setTimeout(() => this.#checkTime(), Math.min(Math.max(0, leftMs), MAX_TIMER_MS));
  }

  #checkTime(): void {
    const { tool, server, timeoutMs, maxTimeoutMs, isPaused } = this.#options;
    if (isPaused?.()) this.extend();
    const now = performance.now();
    if (now < this.#dueAt) {
      this.#startTimer(this.#dueAt - now);
      return;
    }
    const why = now < this.#latest ? `was idle for ${timeoutMs}` : `ran longer than ${maxTimeoutMs}`;
    const text = `Tool "${tool}" of "${server}" ${why} ms and was cancelled.`;
    this.#controller.abort(new PocketError('TOOL_TIMEOUT', text));
  }

  get #dueAt(): number {
    return Math.min(this.#lastActivity + this.#options.timeoutMs, this.#latest);
  }
}
