// An answer of the model whose calls are not all answered: what the journal knows of them.
import { openCalls } from '../base/history-repair.ts';
import { type AssistantMessage, type Message, type ToolMessage, toolMessage } from '../base/messages.ts';
import type { ToolCall } from '../base/tool-call.ts';
import type { RunTotals } from '../cost/budget.ts';
import type { JournaledInnerCall } from '../run/inner-journal.ts';
import type { StepJournal } from '../tools/step-calls.ts';
import type { CallJournal, JournaledCalls } from './conversation-log.ts';

const UNKNOWN =
  'The process ended while this call ran. It may or may not have taken effect; check before you try again.';
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

  /** The saved result of a call. */
  resultOf(callId: string): ToolMessage | undefined {
    return this.#results.get(callId);
  }

  /** Whether a call may have taken effect, with an unknown result. */
  isLost(callId: string): boolean {
    return this.#begun.has(callId) && !this.#results.has(callId);
  }

  /** What sub-agents used for a call, and for the calls that it made. */
  usedBy(callId: string): RunTotals[] {
    return Object.entries(this.#used).flatMap(([id, totals]) => (isWithin(id, callId) ? [totals] : []));
  }

  /** The tools that a call has called. */
  calledBy(callId: string): JournaledInnerCall[] {
    return this.#inner.filter((call) => call.outcome && isWithin(call.madeBy, callId));
  }

  /** A result for each call, for a conversation that goes on without making them. */
  answers(): ToolMessage[] {
    return openCalls(this.message).map(({ toolCallId: id, toolName }) => {
      const value = this.isLost(id) ? UNKNOWN : NOT_MADE;
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
      end: async (result) => {
        if (!isSingle) await journal.end(result);
        this.#results.set(callIdOf(result) ?? '', result);
      },
      inner: (madeBy) => {
        const { inner } = journal;
        if (!inner) return undefined;
        return {
          known: this.#inner.filter((call) => call.madeBy === madeBy),
          usedBy: (callId) => this.usedBy(callId),
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

/** Calls that a call makes have its id and a number. */
function isWithin(id: string, callId: string): boolean {
  return id === callId || id.startsWith(`${callId}.`);
}

function callIdOf({ content }: ToolMessage): string | undefined {
  const [part] = content;
  return part?.type === 'tool-result' ? part.toolCallId : undefined;
}
