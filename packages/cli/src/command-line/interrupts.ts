// Ctrl-C, SIGTERM and SIGHUP: the first one stops the run, the second one ends the program immediately.
import { exitCodes } from './exit-codes.ts';

const codeOf = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.terminalClosed,
} as const;
type StopSignal = keyof typeof codeOf;

export class Interrupts {
  #controller = new AbortController();
  #exitCode: number | undefined;

  /** Handles the signals; until then they end the process. */
  listen(): this {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#stop(name));
    return this;
  }

  /** Aborted when the run has to stop. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Set once a signal arrived or the output was closed. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** Call it for Ctrl-C in a terminal in raw mode, which sends no signal. */
  readonly interrupt = (): void => this.#stop('SIGINT');

  /** Stops the run because the output cannot be written. */
  outputClosed(exitCode: number): void {
    this.#exitCode ??= exitCode;
    this.#controller.abort(new Error('the output was closed'));
  }

  /** Makes a new signal after a run that Ctrl-C stopped. False if the program has to end. */
  renew(): boolean {
    if (this.#exitCode !== undefined && this.#exitCode !== exitCodes.interrupted) return false;
    this.#exitCode = undefined;
    this.#controller = new AbortController();
    return true;
  }

  #stop(name: StopSignal): void {
    // 'exit' listeners remove child processes and locks
    if (this.signal.aborted) process.exit(codeOf[name]);
    this.#exitCode = codeOf[name];
    this.#controller.abort(new Error(name === 'SIGINT' ? 'interrupted' : 'terminated'));
  }
}
