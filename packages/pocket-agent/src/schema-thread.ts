// One worker thread that checks values against schemas: a time limit for each check, a memory limit for the thread.
import type { Worker } from 'node:worker_threads';
import { asPartOf } from './run-frame.ts';

export type Verdict =
  | { fits: true }
  /** What is wrong with the value. */
  | { problem: string }
  /** What is wrong with the schema. */
  | { invalid: string }
  /** Why the check did not finish. */
  | { unchecked: string };

export interface ThreadTask {
  /** JSON text. */
  schema: string;
  /** JSON text; undefined to compile the schema only. */
  value: string | undefined;
  defaults: boolean;
}

/** A check takes microseconds; the rest is for a busy machine. */
const CHECK_MS = 2_000;
const START_MS = 30_000;
const IDLE_MS = 30_000;
const MEMORY_MB = 128;

export class SchemaThread {
  readonly #worker: Worker;
  readonly #onEnd: () => void;
  #isReady = false;
  #settle: ((verdict: Verdict) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    // a worker keeps the async context it is created in, which would be that of the first run that needs it
    this.#worker = asPartOf(undefined, startWorker);
    this.#worker.on('message', (message: Verdict | 'ready') => {
      if (message === 'ready') this.#ready();
      else this.#finish(message);
    });
    this.#worker.on('error', (error) => this.stop(`its thread failed (${error.message})`));
    this.#worker.on('exit', () => this.stop('its thread ended'));
  }

  get isBusy(): boolean {
    return this.#settle !== undefined;
  }

  run(task: ThreadTask): Promise<Verdict> {
    clearTimeout(this.#timer);
    this.#worker.ref();
    this.#worker.postMessage(task);
    this.#limit();
    return new Promise((resolve) => {
      this.#settle = resolve;
    });
  }

  /** A check that is under way cannot be interrupted other than by ending its thread. */
  stop(reason: string): void {
    clearTimeout(this.#timer);
    this.#onEnd();
    void this.#worker.terminate();
    this.#settle?.({ unchecked: reason });
    this.#settle = undefined;
  }

  #ready(): void {
    this.#isReady = true;
    if (!this.isBusy) return;
    clearTimeout(this.#timer);
    this.#limit();
  }

  #limit(): void {
    const ms = this.#isReady ? CHECK_MS : START_MS;
    const reason = `it took longer than ${ms} ms`;
    // after a long block of this thread, an answer that has arrived by now comes first
    this.#timer = setTimeout(() => setImmediate(() => this.isBusy && this.stop(reason)), ms);
  }

  #finish(verdict: Verdict): void {
    clearTimeout(this.#timer);
    this.#worker.unref();
    this.#timer = setTimeout(() => this.stop('its thread was idle'), IDLE_MS).unref();
    this.#settle?.(verdict);
    this.#settle = undefined;
  }
}

function startWorker(): Worker {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return new Worker(new URL(`./schema-worker${extension}`, import.meta.url), {
    execArgv: [], // options such as --eval or --import are for the program, not for this file
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
}
