// Limits the parallel runs of a served agent, in total and per caller.

const DEFAULT_MOST = 1_000;
/** Of all runs, for each of several callers. */
const SHARE_OF_ONE = 1 / 4;

export interface RunLimitOptions {
  /** Of the agent, for the text of a refusal. */
  name: string;
  most?: number | undefined;
  mostPerCaller?: number | undefined;
}

export class RunLimit {
  readonly #options: RunLimitOptions;
  readonly #running = new Map<string, number>();
  #total = 0;

  constructor(options: RunLimitOptions) {
    this.#options = options;
  }

  /** Why the caller cannot start another run. With several callers, each may use only a share of the total. */
  refusal(caller: string, isOneOfMany: boolean): string | undefined {
    const { name, most = DEFAULT_MOST } = this.#options;
    const { mostPerCaller = isOneOfMany ? Math.ceil(most * SHARE_OF_ONE) : most } = this.#options;
    if (this.#total >= most) return `${name} has ${most} runs going on, the most at the same time; try again later.`;
    if ((this.#running.get(caller) ?? 0) < mostPerCaller) return undefined;
    return `${name} has ${mostPerCaller} runs of yours going on, the most for one caller at the same time; try again when one of them is done.`;
  }

  /** Counts a run until the function that is returned is called. */
  begin(caller: string): () => void {
    this.#count(caller, 1);
    return () => this.#count(caller, -1);
  }

  #count(caller: string, change: 1 | -1): void {
    this.#total += change;
    const count = (this.#running.get(caller) ?? 0) + change;
    if (count > 0) this.#running.set(caller, count);
    else this.#running.delete(caller);
  }
}
