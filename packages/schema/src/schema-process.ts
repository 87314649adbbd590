// One child process that checks values against schemas: a schema that uses up the memory or never ends stops only this
// process. (A worker thread that runs out of memory can abort the whole program.)
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ChildProcess } from 'node:child_process';
import { compileCacheEnv } from '@pocket-agent/kit';
import type { CheckTask, Verdict } from './schema-checker.ts';

/** The process ends a slow check itself, so this is for a process that was stopped. */
const ANSWER_MS = 20_000;
const START_MS = 30_000;
const IDLE_MS = 30_000;
const MEMORY_MB = 256;
/** Runs a function outside of every agent's run. */
const outsideRuns = AsyncLocalStorage.snapshot();

export class SchemaProcess {
  readonly #child: ChildProcess;
  readonly #onEnd: () => void;
  #isReady = false;
  #settle: ((verdict: Verdict) => void) | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(onEnd: () => void) {
    this.#onEnd = onEnd;
    // a process keeps the async context it was started in, here that of the first run that needs it
    this.#child = outsideRuns(startChecker);
    this.#child.on('message', (message: Verdict | 'ready') => {
      if (message === 'ready') this.#ready();
      else this.#finish(message);
    });
    this.#child.on('error', (error) => this.stop(`its process failed (${error.message})`));
    this.#child.on('exit', (code, signal) => this.stop(`its process ended (${signal ?? code}), perhaps out of memory`));
  }

  get isBusy(): boolean {
    return this.#settle !== undefined;
  }

  run(task: CheckTask): Promise<Verdict> {
    clearTimeout(this.#timer);
    this.#child.ref();
    this.#child.channel?.ref();
    return new Promise((resolve) => {
      this.#settle = resolve;
      this.#limit();
      this.#child.send(task, (error) => error && this.stop(`its process ended (${error.message})`));
    });
  }

  /** A check that is in progress cannot be interrupted other than by ending its process. */
  stop(reason: string): void {
    clearTimeout(this.#timer);
    this.#onEnd();
    this.#child.kill('SIGKILL');
    this.#settle?.({ unchecked: reason });
    this.#settle = undefined;
  }

  #ready(): void {
    this.#isReady = true;
    if (this.isBusy) this.#limit();
  }

  #limit(): void {
    const ms = this.#isReady ? ANSWER_MS : START_MS;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(`it took longer than ${ms} ms`), ms);
  }

  #finish(verdict: Verdict): void {
    clearTimeout(this.#timer);
    this.#child.unref();
    this.#child.channel?.unref();
    this.#timer = setTimeout(() => this.stop('its process was idle'), IDLE_MS).unref();
    this.#settle?.(verdict);
    this.#settle = undefined;
  }
}

function startChecker(): ChildProcess {
  const { fork } = process.getBuiltinModule('node:child_process');
  const { existsSync } = process.getBuiltinModule('node:fs');
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'));
  const program = new URL(`./schema-checker${extension}`, import.meta.url);
  if (!existsSync(program)) {
    throw new Error(
      `the file schema-checker${extension} is not beside the program; when you bundle, leave @pocket-agent/schema out of the bundle`,
    );
  }
  return fork(program, {
    execArgv: [`--max-old-space-size=${MEMORY_MB}`],
    env: compileCacheEnv(), // no other variables of the program: they may be keys
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
}
