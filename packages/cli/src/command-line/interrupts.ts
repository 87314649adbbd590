// Ctrl-C and the other ways to be told to stop: the first ends what runs, the second the program at once.
import { exitCodes } from './exit-codes.ts';

const codeOf = { SIGINT: exitCodes.interrupted, SIGTERM: exitCodes.terminated, SIGHUP: exitCodes.hungUp } as const;
type StopSignal = keyof typeof codeOf;

export class Interrupts {
  #controller = new AbortController();
  #exitCode: number | undefined;

  /** From now on the signals do not end the process by themselves. */
  listen(): this {
    for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => this.#stop(name));
    return this;
  }

  /** Aborted when what runs has to stop. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Set as soon as something was told to stop. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /** As if Ctrl-C was pressed: a terminal in raw mode sends no signal. */
  readonly interrupt = (): void => this.#stop('SIGINT');

  /** Whoever read the output has gone, or it cannot be written. */
  outputClosed(exitCode: number): void {
    this.#exitCode ??= exitCode;
    this.#controller.abort(new Error('nobody reads the output any more'));
  }

  /** After a run that Ctrl-C ended: the next one has a signal of its own. False when the program is to end. */
  renew(): boolean {
    if (this.#exitCode !== undefined && this.#exitCode !== exitCodes.interrupted) return false;
    this.#exitCode = undefined;
    this.#controller = new AbortController();
    return true;
  }

  #stop(name: StopSignal): void {
    // children and locks go with the process: see the listeners to 'exit' of those who made them
    if (this.signal.aborted) process.exit(codeOf[name]);
    this.#exitCode = codeOf[name];
    this.#controller.abort(new Error(name === 'SIGINT' ? 'interrupted' : 'terminated'));
  }
}
