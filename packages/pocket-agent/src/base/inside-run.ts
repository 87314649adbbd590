// What an agent does inside of its own run: the run ends after the last of it, also of what nobody waits for. Until then
// the history is not the next run's.
import { abortable } from '@pocket-agent/kit';
import type { RunFrame } from './run-frame.ts';

type Work<Value> = (frame: RunFrame) => Promise<Value>;

export async function insideOf<Value>(frame: RunFrame, work: Work<Value>): Promise<Value> {
  frame.open++;
  try {
    return await work(frame);
  } finally {
    if (--frame.open === 0) frame.allDone?.();
  }
}

/** The run itself; an abort ends it at once. */
export async function withAllInside<Value>(frame: RunFrame, work: Work<Value>): Promise<Value> {
  try {
    return await work(frame);
  } finally {
    if (frame.open > 0) await lastInside(frame);
  }
}

function lastInside(frame: RunFrame): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  frame.allDone = resolve;
  return abortable(promise, frame.signal).catch(() => {});
}
