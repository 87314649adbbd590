// Puts an overridden `run` into the queue: that of a subclass, or one assigned to an agent. It has the same queue, limits,
// abort, option checks and events as `PocketAgent.run`.
import { abortableAfter } from '@pocket-agent/kit';
import { textOfInput, type UserInput } from '../base/messages.ts';
import { type RunOptions, runOptions } from '../run/run-options.ts';
import type { RunQueue } from './run-queue.ts';

/** How long an overridden `run` may take to settle after its run was aborted or timed out. */
const SETTLE_MS = 1_000;

type Run<Answer> = (input: string | UserInput, options?: RunOptions) => Promise<Answer>;

/** The `run` of one agent. `baseRun` enters the queue itself, so it stays as it is. */
export class OverriddenRun<Answer> {
  readonly #agent: { run: Run<Answer> };
  readonly #baseRun: Run<Answer>;
  readonly #queue: RunQueue;
  /** As the class or the program defines it. */
  #run: Run<Answer>;

  constructor(agent: { run: Run<Answer> }, baseRun: Run<Answer>, queue: RunQueue) {
    this.#agent = agent;
    this.#baseRun = baseRun;
    this.#queue = queue;
    this.#run = agent.run;
  }

  get isOverridden(): boolean {
    return this.#run !== this.#baseRun;
  }

  /** Whether the current code runs inside an overridden run. */
  get isInside(): boolean {
    return this.isOverridden && this.#queue.current !== undefined;
  }

  /** What `run` of the agent is for its callers. */
  get queued(): Run<Answer> {
    const run = this.#run; // one that replaces it may call it
    return this.isOverridden ? (input, options) => this.#enter(run, input, options) : run;
  }

  replace(run: Run<Answer>): void {
    this.#run = run;
  }

  async #enter(run: Run<Answer>, input: string | UserInput, options: RunOptions = {}): Promise<Answer> {
    runOptions.checkSpelling(options);
    // `output` is for the overridden run to pass on
    return this.#queue.enter({ options, announcedInput: textOfInput(input), returns: 'text' }, ({ signal }) =>
      abortableAfter(Promise.resolve(run.call(this.#agent, input, options)), signal, SETTLE_MS),
    );
  }
}
