// The run that is going on, found from anywhere inside it: so deadline, abort, events and the chain of agents
// reach sub-agents even through a `run()` that somebody has overridden.
import { AsyncLocalStorage } from 'node:async_hooks';
import type { Profile } from '../access/access.ts';
import type { Approve } from '../access/approval.ts';
import type { Gate } from '../access/gate.ts';
import type { Turns } from '../agent/turns.ts';
import type { Budget } from '../cost/budget.ts';
import type { Prices } from '../cost/prices.ts';
import type { ServerHandlers } from '../mcp/server-requests.ts';
import type { EventListener } from './events.ts';

export interface RunFrame {
  readonly owner: Turns;
  readonly parent: RunFrame | undefined;
  /** Names of the agents from the first one called down to this one. */
  readonly path: readonly string[];
  /** The same as one text, by which totals are kept. */
  readonly place: string;
  readonly signal: AbortSignal;
  readonly budget: Budget;
  readonly prices: Prices;
  readonly gate: Gate;
  /** What this run was narrowed to. */
  readonly profiles: readonly Profile[];
  readonly approve: Approve | undefined;
  readonly approveFallback: Approve | undefined;
  /** Answers what MCP servers want to know in this run. */
  readonly elicit: ServerHandlers['elicitationHandler'];
  /** For whom the run is, when somebody has said so. */
  readonly caller: string | undefined;
  /** Gets the events of this run and of the runs inside it. */
  readonly listener: EventListener | undefined;
  /** Somebody watches live, so the model is asked to stream. */
  readonly streaming: boolean;
  readonly traceparent: string | undefined;
  /** Set while a tool runs: the history waits for its answer, so the agent cannot be run again from there. */
  readonly toolCallId: string | undefined;
  /** Shared by all frames of one run. */
  readonly count: { steps: number; runId?: string };
  /** Runs and steps of its agent inside of it that are not over. */
  open: number;
  /** Called when the last of them is. */
  allDone: (() => void) | undefined;
  /** True when the run is over: a timer it left behind no longer belongs to it. */
  finished: boolean;
}

const frames = new AsyncLocalStorage<RunFrame | undefined>();

export function currentFrame(): RunFrame | undefined {
  const frame = frames.getStore();
  return frame?.finished ? undefined : frame;
}

/** The frame this code belongs to, also when its run is over: what it left behind has no more rights than it had. */
export function lastFrame(): RunFrame | undefined {
  return frames.getStore();
}

/** Does something as part of a run, or of none, whatever run happens to be going on here. */
export function asPartOf<Value>(frame: RunFrame | undefined, work: () => Value): Value {
  return frames.run(frame, work);
}

export function inFrame<Value>(frame: RunFrame, work: () => Promise<Value>): Promise<Value> {
  const running = frames.run(frame, work);
  const finish = () => {
    frame.finished = true;
  };
  running.then(finish, finish);
  return running;
}
