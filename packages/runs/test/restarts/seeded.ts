// What a run does, from a seed: the same in every process.
import type { ScriptedAnswer } from 'pocket-agent/testing';

export interface SeededOptions {
  url: string;
  effects: string;
  seed: number;
  runs: number;
  /** Counted from 1. */
  killAt?: number;
}

const names = ['look', 'set', 'pay', 'refund'];

/** Numbers from 0 to 1 that depend on the seed only: the generator mulberry32. */
export function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Up to four steps of up to three calls, then the answer, which is the id of the run. */
export function scriptOf(seed: number, run: string): (string | ScriptedAnswer)[] {
  const next = random(seed * 1_000 + Number(run.slice('run-'.length)));
  const upTo = (most: number) => 1 + Math.floor(next() * most);
  const steps = Array.from({ length: upTo(4) }, (_, step) => ({
    toolCalls: Array.from({ length: upTo(3) }, (_call, call) => ({
      name: names[upTo(names.length) - 1] ?? 'look',
      id: `${step}-${call}`,
      arguments: { run },
    })),
  }));
  return [...steps, run];
}
