// Tool calls on their way to one server: given up when nothing is heard of them for too long, kept alive by progress.
import { onAbort } from './abort.ts';
import { PocketError } from './errors.ts';
import type { ToolProgress } from './tools.ts';

interface PendingCall<Result> {
  /** For the text of an error. */
  tool: string;
  server: string;
  progressToken: string;
  signal: AbortSignal;
  timeoutMs: number;
  maxTimeoutMs: number;
  onProgress(update: ToolProgress): void;
  send(signal: AbortSignal): Promise<Result>;
}

export class PendingCalls {
  readonly #clocks = new Map<string | number, Clock>();
  /** What the server waits for from us at the moment. */
  #questions = 0;

  async run<Result>(call: PendingCall<Result>): Promise<Result> {
    const { progressToken, signal } = call;
    const controller = new AbortController();
    const release = onAbort(signal, (reason) => controller.abort(reason));
    const clock = new Clock(call, controller, () => this.#questions > 0);
    this.#clocks.set(progressToken, clock);
    try {
      return await call.send(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) throw controller.signal.reason;
      throw error;
    } finally {
      clock.stop();
      release();
      this.#clocks.delete(progressToken);
    }
  }

  progress(progressToken: string | number, update: ToolProgress): void {
    const clock = this.#clocks.get(progressToken);
    clock?.extend();
    clock?.call.onProgress(update);
  }

  /** No call is idle while `answer` runs: a person may take long to answer what a tool wants to know. */
  async whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    this.#questions++;
    try {
      return await answer();
    } finally {
      this.#questions--;
      for (const clock of this.#clocks.values()) clock.extend();
    }
  }
}

/** How long a call may still take. One timer does for a call that ends without a sign of life, as most do. */
class Clock {
  readonly call: Omit<PendingCall<never>, 'send'>;
  readonly #controller: AbortController;
  readonly #isAsked: () => boolean;
  readonly #begun = performance.now();
  readonly #idle: NodeJS.Timeout;
  #cap: NodeJS.Timeout | undefined;

  constructor(call: Omit<PendingCall<never>, 'send'>, controller: AbortController, isAsked: () => boolean) {
    this.call = call;
    this.#controller = controller;
    this.#isAsked = isAsked;
    this.#idle = setTimeout(() => this.#expire(), call.timeoutMs);
    if (call.timeoutMs >= call.maxTimeoutMs) this.#startCap();
  }

  extend(): void {
    this.#idle.refresh();
    if (!this.#cap) this.#startCap();
  }

  stop(): void {
    clearTimeout(this.#idle);
    clearTimeout(this.#cap);
  }

  #expire(): void {
    // a server that waits for an answer of ours is not the one that is late
    if (this.#isAsked()) this.extend();
    else this.#giveUp(`gave no sign of life for ${this.call.timeoutMs}`);
  }

  #startCap(): void {
    const { maxTimeoutMs } = this.call;
    const leftMs = maxTimeoutMs - (performance.now() - this.#begun);
    this.#cap = setTimeout(() => this.#giveUp(`ran longer than ${maxTimeoutMs}`), leftMs);
  }

  #giveUp(why: string): void {
    const { tool, server } = this.call;
    this.#controller.abort(
      new PocketError('TOOL_TIMEOUT', `Tool "${tool}" of "${server}" ${why} ms and was cancelled.`),
    );
  }
}
