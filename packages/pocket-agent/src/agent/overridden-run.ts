// Puts an overridden `run` into the queue: that of a subclass, or one assigned to an agent. It has the same queue, limits,
// abort, option checks and events as `PocketAgent.run`.
import { abortableAfter } from '@pocket-agent/kit';
import { textOfInput, type UserInput } from '../base/messages.ts';
import { type RunOptions, runOptions } from '../run/run-options.ts';
import type { RunQueue } from './run-queue.ts';

/** How long an overridden `run` may take to settle after its run was aborted or timed out. */
const SETTLE_MS = 1_000;

type Run<Answer> = (input: string | UserInput, options?: RunOptions) => Promise<Answer>;

export interface OverriddenRun {
  readonly isOverridden: boolean;
  /** Whether the current code runs inside an overridden run. */
  isInside(): boolean;
}

/** `baseRun` enters the queue itself, so it stays as it is. */
export function queueOverriddenRun<Answer>(
  agent: { run: Run<Answer> },
  baseRun: Run<Answer>,
  queue: RunQueue,
): OverriddenRun {
  let { run } = agent;
  const queuedRun: Run<Answer> = async (input, options = {}) => {
    runOptions.checkSpelling(options);
    // `output` is for the overridden run to pass on
    return queue.enter({ options, announcedInput: textOfInput(input), returns: 'text' }, ({ signal }) =>
      abortableAfter(Promise.resolve(run.call(agent, input, options)), signal, SETTLE_MS),
    );
  };
  // not configurable: a class field `run = …` would bypass queue, limits and abort, so it throws
  Object.defineProperty(agent, 'run', {
    get: () => (run === baseRun ? baseRun : queuedRun),
    set: (assigned: Run<Answer>) => {
      run = assigned;
    },
  });
  return {
    get isOverridden() {
      return run !== baseRun;
    },
    isInside: () => run !== baseRun && queue.current !== undefined,
  };
}
