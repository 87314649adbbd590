// Events of runs of this process between those of the journal: streamed text, progress. They are not saved.
import type { AgentEvent, EventListener } from 'pocket-agent';

/** The most events of a step that are kept for readers that arrive during it. */
const MAX_KEPT = 1_000;

export class LiveEvents {
  readonly #listeners = new Map<string, Set<EventListener>>();
  /** Of the step in progress. */
  readonly #steps = new Map<string, AgentEvent[]>();

  add(run: string, event: AgentEvent): void {
    const isBegin = event.meta.path.length === 1 && event.type === 'step_started';
    if (isBegin) this.#steps.set(run, []);
    // no step is in progress before the first one, and after the run has left this process
    const step = this.#steps.get(run);
    const joined = joinedText(step?.at(-1), event);
    if (step && joined) step[step.length - 1] = joined;
    else if (step && step.length < MAX_KEPT) step.push(event);
    for (const listener of this.#listeners.get(run) ?? []) listener(event);
  }

  /** The run has left this process. */
  ended(run: string): void {
    this.#steps.delete(run);
  }

  /** Returns a function that removes the listener. */
  follow(run: string, listener: EventListener): () => void {
    for (const event of this.#steps.get(run) ?? []) listener(event);
    const listeners = this.#listeners.get(run) ?? new Set();
    this.#listeners.set(run, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0) this.#listeners.delete(run);
    };
  }
}

/** Two deltas of one text as one event; undefined for other events. */
function joinedText(last: AgentEvent | undefined, event: AgentEvent): AgentEvent | undefined {
  if (event.type !== 'text_delta' && event.type !== 'reasoning_delta') return undefined;
  if (last?.type !== event.type || last.meta.runId !== event.meta.runId) return undefined;
  return { ...event, data: { delta: last.data.delta + event.data.delta } };
}
