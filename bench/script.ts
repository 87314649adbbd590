// What the models of all contenders say: turns that are repeated for ever, or a list of them that is said once.
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

/** What a model is shown when it is asked, read only by those who want to know. */
export interface Asked {
  offered(): string[];
  /** What the tools answered so far, by the ids of the calls. */
  results(): [id: string, text: string][];
}

export interface Script {
  next(asked: Asked): Turn;
}

/** The turns of a job, begun again whenever they are through. Some put the name of the server before that of a tool. */
export function endlessScript({ turns, onTurn }: Job, prefix = ''): Script {
  const deltas = Array.from({ length: turns.deltas }, () => 'word ');
  let turn = 0;
  let ids = 0;
  const call = () => ({ id: `call-${++ids}`, name: `${prefix}add`, arguments: '{"a":1,"b":2}' });
  return {
    next(asked) {
      onTurn?.(asked);
      const isLast = turn === turns.steps;
      turn = isLast ? 0 : turn + 1;
      return isLast ? { calls: [], deltas } : { calls: Array.from({ length: turns.calls }, call), deltas: [] };
    },
  };
}
