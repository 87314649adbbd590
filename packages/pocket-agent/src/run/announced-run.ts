// Announces the start and the end of a run to listeners. They see the end of each run inside it first, also after an abort,
// which inner runs may notice later than the outer one.
import { errorText, isPocketError } from '@pocket-agent/kit';
import { emitEvent } from './event-emitter.ts';
import type { UnsignedEvent } from './events.ts';
import { inRun, type OpenRun, type RunAgent, type RunContext } from './run-context.ts';

export class AnnouncedRun implements OpenRun {
  readonly #agent: RunAgent;
  readonly #context: RunContext;
  #isOpen = true;

  constructor(agent: RunAgent, context: RunContext, input: string) {
    this.#agent = agent;
    this.#context = context;
    const outer = context.parent?.shared;
    if (outer) {
      outer.runsInside ??= new Set();
      outer.runsInside.add(this);
    }
    this.#emit({ type: 'run_started', data: { input } });
  }

  get isAborted(): boolean {
    return this.#context.signal.aborted;
  }

  finished(answer: unknown): void {
    this.#end({ type: 'run_finished', data: { answer, totals: this.#context.budget.totals } });
  }

  /** First gives aborted runs inside one turn to end by themselves. */
  async failed(error: unknown): Promise<void> {
    if (this.#abortedInside().length > 0) await new Promise((resolve) => setTimeout(resolve));
    this.#fail(error);
  }

  endAborted(): void {
    this.#fail(this.#context.signal.reason);
  }

  #abortedInside(): OpenRun[] {
    return [...(this.#context.shared.runsInside ?? [])].filter((run) => run !== this && run.isAborted);
  }

  #fail(error: unknown): void {
    const code = isPocketError(error) ? error.code : 'FAILED';
    this.#end({ type: 'run_failed', data: { code, message: errorText(error) } });
  }

  #end(event: UnsignedEvent): void {
    if (!this.#isOpen) return;
    this.#isOpen = false;
    for (const run of this.#abortedInside()) run.endAborted();
    this.#context.parent?.shared.runsInside?.delete(this);
    this.#emit(event);
  }

  /** Listeners are part of the run too. */
  #emit(event: UnsignedEvent): void {
    inRun(this.#context, () => emitEvent({ agent: this.#agent, context: this.#context, event }));
  }
}
