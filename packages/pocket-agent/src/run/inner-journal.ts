// The saved calls of a tool that can resume after a crash, such as a script. The tool starts again, and the calls that it
// repeats get their saved results.
import type { CallToolResult } from '@modelcontextprotocol/client';
import type { ToolCall } from '../base/tool-call.ts';
import type { RunTotals } from '../cost/budget.ts';

/** A call of a tool that can resume after a crash, such as a script. A call without an outcome has begun, or `waits`. */
export interface JournaledInnerCall extends ToolCall {
  /** The id of the call that made it. */
  madeBy: string;
  /** When that call began: a repeated script sees the same time. */
  startedAt: number;
  /** A person is asked before it begins. */
  waits?: true;
  /** Its result, or the error that it failed with. */
  outcome?: { result: CallToolResult } | { error: { code: string; message: string } };
}

/** The calls that one call of a script makes: those that are saved, and new ones. */
export interface InnerJournal {
  known: readonly JournaledInnerCall[];
  /** The usage of sub-agents for a call. */
  usedBy(callId: string): RunTotals[];
  save(call: JournaledInnerCall): Promise<void>;
}

type Outcome = NonNullable<JournaledInnerCall['outcome']>;

export class SavedInnerCalls {
  /** When the tool was called first. */
  readonly startedAt: number;
  readonly #id: string;
  readonly #journal: InnerJournal;
  /** By name and arguments, in the order of the calls: parallel calls may be repeated in another order. */
  readonly #unrepeated = new Map<string, JournaledInnerCall[]>();

  constructor(id: string, journal: InnerJournal) {
    this.#id = id;
    this.#journal = journal;
    const byId = new Map<string, JournaledInnerCall>();
    for (const call of journal.known) byId.set(call.id, call);
    const calls = [...byId.values()];
    this.startedAt = calls[0]?.startedAt ?? Date.now();
    for (const call of calls.sort((one, other) => numberOf(one) - numberOf(other))) {
      const key = keyOf(call.name, call.arguments);
      this.#unrepeated.set(key, [...(this.#unrepeated.get(key) ?? []), call]);
    }
  }

  get highestNumber(): number {
    return Math.max(0, ...this.#journal.known.map(numberOf));
  }

  get unrepeated(): ToolCall[] {
    return [...this.#unrepeated.values()]
      .flat()
      .map(({ id, name, arguments: args }) => ({ id, name, arguments: args }));
  }

  /** Takes a saved call with the same name and arguments; undefined if there is none left. */
  take(name: string, args: Record<string, unknown>): JournaledInnerCall | undefined {
    return this.#unrepeated.get(keyOf(name, args))?.shift();
  }

  begin(call: ToolCall): Promise<void> {
    return this.#save(call, {});
  }

  /** Saves a suspended call, so that it keeps its id. */
  wait(call: ToolCall): Promise<void> {
    return this.#save(call, { waits: true });
  }

  end(call: ToolCall, outcome: Outcome): Promise<void> {
    return this.#save(call, { outcome });
  }

  /** The usage of sub-agents for a call. */
  usedBy(callId: string) {
    return this.#journal.usedBy(callId);
  }

  #save({ id, name, arguments: args }: ToolCall, state: Pick<JournaledInnerCall, 'waits' | 'outcome'>): Promise<void> {
    return this.#journal.save({ id, name, arguments: args, madeBy: this.#id, startedAt: this.startedAt, ...state });
  }
}

function keyOf(name: string, args: Record<string, unknown>): string {
  return JSON.stringify([name, args]);
}

function numberOf({ id }: ToolCall): number {
  return Number(id.slice(id.lastIndexOf('.') + 1));
}
