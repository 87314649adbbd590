// Tool calls on their way to one server: given up when nothing is heard of them for too long, kept alive by progress.
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
  readonly #calls = new Map<string | number, { idle: NodeJS.Timeout; onProgress(update: ToolProgress): void }>();
  /** What the server waits for from us at the moment. */
  #questions = 0;

  async run<Result>(call: PendingCall<Result>): Promise<Result> {
    const { progressToken, signal, timeoutMs, maxTimeoutMs } = call;
    const controller = new AbortController();
    const giveUp = (why: string) =>
      controller.abort(
        new PocketError('TOOL_TIMEOUT', `Tool "${call.tool}" of "${call.server}" ${why} ms and was cancelled.`),
      );
    const idle = setTimeout(() => {
      // a server that waits for an answer of ours is not the one that is late
      if (this.#questions > 0) idle.refresh();
      else giveUp(`gave no sign of life for ${timeoutMs}`);
    }, timeoutMs);
    const cap = setTimeout(() => giveUp(`ran longer than ${maxTimeoutMs}`), maxTimeoutMs);
    const abort = () => controller.abort(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    this.#calls.set(progressToken, { idle, onProgress: call.onProgress });
    try {
      return await call.send(controller.signal);
    } catch (error) {
      if (controller.signal.aborted) throw controller.signal.reason;
      throw error;
    } finally {
      clearTimeout(idle);
      clearTimeout(cap);
      signal.removeEventListener('abort', abort);
      this.#calls.delete(progressToken);
    }
  }

  progress(progressToken: string | number, update: ToolProgress): void {
    const call = this.#calls.get(progressToken);
    call?.idle.refresh();
    call?.onProgress(update);
  }

  /** No call is idle while `answer` runs: a person may take long to answer what a tool wants to know. */
  async whileAsked<Answer>(answer: () => Answer | Promise<Answer>): Promise<Answer> {
    this.#questions++;
    try {
      return await answer();
    } finally {
      this.#questions--;
      for (const { idle } of this.#calls.values()) idle.refresh();
    }
  }
}
