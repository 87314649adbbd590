// Limits the parallel runs of a served agent, in total and per caller.

const DEFAULT_MAX_RUNS = 1_000;
/** The share of all runs that each of several callers may use. */
const CALLER_SHARE = 1 / 4;

export interface RunLimitOptions {
  /** The agent, for the text of a refusal. */
  name: string;
  maxRuns?: number | undefined;
  maxRunsPerCaller?: number | undefined;
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
    const { name, maxRuns = DEFAULT_MAX_RUNS } = this.#options;
    const { maxRunsPerCaller = isOneOfMany ? Math.ceil(maxRuns * CALLER_SHARE) : maxRuns } = this.#options;
    if (this.#total >= maxRuns) return `${name} already has ${maxRuns} runs, its limit; try again later.`;
    if ((this.#running.get(caller) ?? 0) < maxRunsPerCaller) return undefined;
    return `You already have ${maxRunsPerCaller} runs of ${name}, the limit for one caller; try again when one has ended.`;
  }

  /** Counts a run until the returned function is called. */
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
