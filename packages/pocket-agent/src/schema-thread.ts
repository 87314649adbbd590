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

/** Processor time of a check, where Node reports it: on a busy machine a thread may wait long for a processor. */
const CHECK_MS = 2_000;
/** However little of its processor time it got. */
const LONGEST_CHECK_MS = 8_000;
const START_MS = 30_000;
const SHORTEST_LOOK_MS = 50;
const IDLE_MS = 30_000;
const MEMORY_MB = 256;

interface CheckStart {
  time: number;
  cpuMs: Promise<number | undefined>;
}

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
    this.#worker.on('error', (error) => this.stop(reasonOf(error)));
    this.#worker.on('exit', () => this.stop('its thread ended'));
  }

  get isBusy(): boolean {
    return this.#settle !== undefined;
  }

  run(task: ThreadTask): Promise<Verdict> {
    clearTimeout(this.#timer);
    this.#worker.ref();
    this.#worker.postMessage(task);
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#limit();
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
    if (this.#isReady) this.#lookAfter(CHECK_MS, { time: performance.now(), cpuMs: this.#cpuMs() });
    else this.#timer = setTimeout(() => this.stop(`its thread did not start within ${START_MS} ms`), START_MS);
  }

  /** Ends a check that has used up its time; one that has some left is looked at again. */
  #lookAfter(waitMs: number, start: CheckStart): void {
    const check = this.#settle;
    const look = async () => {
      const [before, now] = await Promise.all([start.cpuMs, this.#cpuMs()]);
      if (this.#settle !== check) return;
      const usedMs = before === undefined || now === undefined ? CHECK_MS : now - before;
      const leftMs = Math.min(CHECK_MS - usedMs, start.time + LONGEST_CHECK_MS - performance.now());
      if (leftMs > 0) this.#lookAfter(Math.max(leftMs, SHORTEST_LOOK_MS), start);
      else this.stop(`it took longer than ${CHECK_MS} ms`);
    };
    // after a long block of this thread, an answer that has arrived by now comes first
    this.#timer = setTimeout(() => setImmediate(look), waitMs);
  }

  /** Processor time of the thread so far; undefined before Node 24.6, and when the thread has ended. */
  async #cpuMs(): Promise<number | undefined> {
    try {
      const { user, system } = await this.#worker.cpuUsage();
      return (user + system) / 1_000;
    } catch {
      return undefined;
    }
  }

  #finish(verdict: Verdict): void {
    clearTimeout(this.#timer);
    this.#worker.unref();
    this.#timer = setTimeout(() => this.stop('its thread was idle'), IDLE_MS).unref();
    this.#settle?.(verdict);
    this.#settle = undefined;
  }
}

function reasonOf(error: Error & { code?: string }): string {
  if (!error.code?.endsWith('MODULE_NOT_FOUND')) return `its thread failed (${error.message})`;
  return 'the file schema-worker.js is not beside the program; when you bundle, leave pocket-agent out of the bundle';
}

function startWorker(): Worker {
  const { Worker } = process.getBuiltinModule('node:worker_threads');
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  return new Worker(new URL(`./schema-worker${extension}`, import.meta.url), {
    execArgv: [], // options such as --eval or --import are for the program, not for this file
    resourceLimits: { maxOldGenerationSizeMb: MEMORY_MB },
  });
}
