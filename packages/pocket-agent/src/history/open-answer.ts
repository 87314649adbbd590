// An answer of the model with open calls, and what the journal has recorded about them.
import { openCalls } from '../base/history-repair.ts';
import { type AssistantMessage, type Message, type ToolMessage, toolMessage } from '../base/messages.ts';
import { CHECK_BEFORE_RETRY, type ToolCall } from '../base/tool-call.ts';
import type { RunTotals } from '../cost/budget.ts';
import type { JournaledInnerCall } from '../run/inner-journal.ts';
import type { RunContext } from '../run/run-context.ts';
import type { RequestedCall, StepJournal } from '../tools/step-calls.ts';
import type { CallJournal, JournaledCalls } from './conversation-log.ts';

const UNKNOWN = `The process ended while this call ran. ${CHECK_BEFORE_RETRY}`;
const NOT_MADE = 'This call was not made: the run ended before it.';

export class OpenAnswer {
  readonly message: Message;
  readonly #begun: Set<string>;
  readonly #results: Map<string, ToolMessage>;
  readonly #inner: readonly JournaledInnerCall[];
  readonly #used: Readonly<Record<string, RunTotals>>;

  constructor(message: Message, calls: JournaledCalls = { begun: [], results: [] }) {
    const { begun, results, inner = [], used = {} } = calls;
    this.message = message;
    this.#inner = inner;
    this.#used = used;
    this.#begun = new Set(begun);
    this.#results = new Map(results.map((result) => [callIdOf(result) ?? '', result]));
  }

  resultOf(callId: string): ToolMessage | undefined {
    return this.#results.get(callId);
  }

  /** Whether a call may have taken effect, with an unknown result. */
  #isLost(callId: string): boolean {
    return this.#begun.has(callId) && !this.#results.has(callId);
  }

  /** The usage of sub-agents for a call, and for the calls that it made. */
  #usedBy(callId: string): RunTotals[] {
    return Object.entries(this.#used).flatMap(([id, totals]) => (isWithin(id, callId) ? [totals] : []));
  }

  /** The tools that a call has called. */
  #calledBy(callId: string): JournaledInnerCall[] {
    return this.#inner.filter((call) => call.outcome && isWithin(call.madeBy, callId));
  }

  /** The calls without a saved result. The others are counted now: the budget was saved before them. */
  unanswered(requested: readonly RequestedCall[], { budget, pathKey }: RunContext): readonly RequestedCall[] {
    return requested.flatMap((each) => {
      const { id, name } = each.call;
      if (!this.resultOf(id)) return [this.#isLost(id) ? { ...each, isLost: true } : each];
      for (const call of [{ name }, ...this.#calledBy(id)]) budget.countToolCall(pathKey, call.name);
      for (const used of this.#usedBy(id)) budget.add(used);
      return [];
    });
  }

  /** A result for each call, for a conversation that continues without making them. */
  answers(): ToolMessage[] {
    return openCalls(this.message).map(({ toolCallId: id, toolName }) => {
      const value = this.#isLost(id) ? UNKNOWN : NOT_MADE;
      return this.resultOf(id) ?? toolMessage(id, toolName, { type: 'error-text', value });
    });
  }

  /** Saves calls in a journal as they begin and end. The end of a single call is saved with its step. */
  journal(journal: CallJournal): StepJournal {
    const isSingle = openCalls(this.message).length === 1;
    return {
      begin: async (call: ToolCall) => {
        await journal.begin(call);
        this.#begun.add(call.id);
      },
      ready: async () => journal.ready?.(),
      end: async (result) => {
        if (!isSingle) await journal.end(result);
        this.#results.set(callIdOf(result) ?? '', result);
      },
      inner: (madeBy) => {
        const { inner } = journal;
        if (!inner) return undefined;
        return {
          known: this.#inner.filter((call) => call.madeBy === madeBy),
          usedBy: (callId) => this.#usedBy(callId),
          save: (call) => inner.call(journal, call),
        };
      },
    };
  }
}

/** The last answer in a history, unless a message of the user follows. */
export function lastAnswer(messages: readonly Message[]): { message: AssistantMessage; isOpen: boolean } | undefined {
  const index = messages.findLastIndex(({ role }) => role !== 'tool');
  const message = messages[index];
  if (message?.role !== 'assistant') return undefined;
  return { message, isOpen: index === messages.length - 1 && openCalls(message).length > 0 };
}

/** The id of a call that another call makes begins with the id of that call. */
function isWithin(id: string, callId: string): boolean {
  return id === callId || id.startsWith(`${callId}.`);
}

function callIdOf({ content }: ToolMessage): string | undefined {
  const [part] = content;
  return part?.type === 'tool-result' ? part.toolCallId : undefined;
}
