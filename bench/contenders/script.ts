// What the models of all contenders answer: turns that repeat forever, or a list that is used once.
import type { Job } from './contender.ts';

export interface ScriptedCall {
  id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

/** Calls, or an answer in deltas. */
export interface Turn {
  calls: ScriptedCall[];
  deltas: string[];
}

/** What a model receives; computed only on access. */
export interface Asked {
  offered(): string[];
  /** The results of the tools so far, by call id. */
  results(): [id: string, text: string][];
}

export interface Script {
  next(asked: Asked): Turn;
  /** How long the model takes to answer. */
  latencyMs?: number | undefined;
}

/** The turns of a job, repeated forever. Some frameworks prefix tool names with the name of the server. */
export function endlessScript({ turns, onTurn, latencyMs }: Job, prefix = ''): Script {
  const deltas = Array.from({ length: turns.deltas }, () => 'word ');
  let turn = 0;
  let ids = 0;
  const call = () => ({ id: `call-${++ids}`, name: `${prefix}add`, arguments: '{"a":1,"b":2}' });
  return {
    latencyMs,
    next(asked) {
      onTurn?.(asked);
      const isLast = turn === turns.steps;
      turn = isLast ? 0 : turn + 1;
      return isLast ? { calls: [], deltas } : { calls: Array.from({ length: turns.calls }, call), deltas: [] };
    },
  };
}
