// Tool calls on their way to one server: given up when nothing is heard of them for too long, kept alive by progress.
import { LONGEST_TIMER_MS, onAbort } from './abort.ts';
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
  /** By `performance.now()`, default now: a call that is sent again has only what is left of its time. */
  begunAt?: number;
  onProgress(update: ToolProgress): void;
  send(signal: AbortSignal): Promise<Result>;
}

export class PendingCalls {
  readonly #clocks = new Map<string | number, Clock>();
  /** What the server waits for from us at the moment. */
  #questions = 0;
  /** One for all calls, left running when they end: most of them end long before it, and timers are dear. */
  #timer: NodeJS.Timeout | undefined;
  #looksAt = Number.POSITIVE_INFINITY;

  async run<Result>(call: PendingCall<Result>): Promise<Result> {
    const { progressToken, signal } = call;
    const clock = new Clock(call);
    const release = onAbort(signal, (reason) => clock.controller.abort(reason));
    this.#clocks.set(progressToken, clock);
    this.#lookAt(clock.dueAt);
    try {
      return await call.send(clock.controller.signal);
    } catch (error) {
      if (clock.controller.signal.aborted) throw clock.controller.signal.reason;
      throw error;
    } finally {
      release();
      this.#clocks.delete(progressToken);
      if (this.#clocks.size === 0) this.#timer?.unref();
    }
  }

  progress(progressToken: string | number, update: ToolProgress | undefined): void {
    const clock = this.#clocks.get(progressToken);
    clock?.extend();
    if (update) clock?.call.onProgress(update);
  }

  /** No call will follow. The timer would keep the run it was started in, with all its history. */
  close(): void {
    clearTimeout(this.#timer);
  }

  /** No call is idle while `answer` runs: a person may take long to answer what a tool wants to know. */
  async whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    this.#questions++;
    try {
      return await answer();
    } finally {
      this.#questions--;
      this.#extendAll();
    }
  }

  #extendAll(): void {
    for (const clock of this.#clocks.values()) clock.extend();
  }

  #lookAt(time: number): void {
    if (time >= this.#looksAt) {
      this.#timer?.ref();
      return;
    }
    clearTimeout(this.#timer);
    this.#looksAt = time;
    this.#timer = setTimeout(() => this.#look(), Math.min(time - performance.now(), LONGEST_TIMER_MS));
  }

  #look(): void {
    this.#timer = undefined;
    this.#looksAt = Number.POSITIVE_INFINITY;
    // a server that waits for an answer of ours is not the one that is late
    if (this.#questions > 0) this.#extendAll();
    const now = performance.now();
    for (const clock of this.#clocks.values()) {
      if (clock.dueAt > now) this.#lookAt(clock.dueAt);
      else clock.giveUp(now);
    }
  }
}

/** How long a call may still take. */
class Clock {
  readonly call: Omit<PendingCall<never>, 'send'>;
  readonly controller = new AbortController();
  readonly #expired = Promise.withResolvers<PocketError>();
  readonly #latest: number;
  #heardAt = performance.now();

  constructor(call: Omit<PendingCall<never>, 'send'>) {
    this.call = call;
    this.#latest = (call.begunAt ?? this.#heardAt) + call.maxTimeoutMs;
    // so that it is heard within the run of this call, not of the one that happened to start the timer
    this.#expired.promise.then((error) => this.controller.abort(error));
  }

  get dueAt(): number {
    return Math.min(this.#heardAt + this.call.timeoutMs, this.#latest);
  }

  extend(): void {
    this.#heardAt = performance.now();
  }

  giveUp(now: number): void {
    const { tool, server, timeoutMs, maxTimeoutMs } = this.call;
    const why = now < this.#latest ? `gave no sign of life for ${timeoutMs}` : `ran longer than ${maxTimeoutMs}`;
    this.#expired.resolve(
      new PocketError('TOOL_TIMEOUT', `Tool "${tool}" of "${server}" ${why} ms and was cancelled.`),
    );
  }
}
