// Events of runs of this process between those of the journal: streamed text, progress. They are not saved.
import type { AgentEvent, EventListener } from 'pocket-agent';

/** The most events of a step that are kept for readers that arrive during it. */
const MAX_KEPT = 1_000;

export class LiveEvents {
  readonly #listeners = new Map<string, Set<EventListener>>();
  /** Of the step in progress. */
  readonly #steps = new Map<string, AgentEvent[]>();

  add(run: string, event: AgentEvent): void {
    const isOwn = event.meta.path.length === 1;
    const isBegin = isOwn && event.type === 'step_started';
    const step = isBegin ? [] : (this.#steps.get(run) ?? []);
    this.#steps.set(run, step);
    const joined = joinedText(step.at(-1), event);
    if (joined) step[step.length - 1] = joined;
    else if (step.length < MAX_KEPT) step.push(event);
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
