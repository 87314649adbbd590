// What the models of all contenders answer: turns that repeat forever.
import type { Job } from './contender.ts';

export interface ScriptedCall {
  id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

/** What a model returns: calls, or an answer in deltas. */
export interface Turn {
  calls: ScriptedCall[];
  deltas: string[];
}

/** What a model receives. Methods, so that contenders do not pay for parts that are not used. */
export interface ModelInput {
  offered(): string[];
  /** The tool results so far, by call id. */
  results(): [id: string, text: string][];
}

export interface Script {
  next(asked: ModelInput): Turn;
  /** How long the model takes to answer. */
  latencyMs?: number | undefined;
}

/** Repeats the turns of a job forever. `prefix` is what the framework puts before tool names. */
export function repeatingScript({ turns, onTurn, latencyMs }: Job, prefix = ''): Script {
  const deltas = Array.from({ length: turns.deltas }, () => 'word ');
  let turn = 0;
  let ids = 0;
  const call = () => ({ id: `call-${++ids}`, name: `${prefix}add`, arguments: '{"a":1,"b":2}' });
  return {
    latencyMs,
    next(input) {
      onTurn?.(input);
      const isLast = turn === turns.steps;
      turn = isLast ? 0 : turn + 1;
      return isLast ? { calls: [], deltas } : { calls: Array.from({ length: turns.calls }, call), deltas: [] };
    },
  };
}
