// Tool calls of one answer that the provider ran: shown as events, during the stream or with the whole answer, then audited
// and counted like other calls.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { deepCopy, isRecord, printable, warnOnce } from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import { type AssistantMessage, providerResultPart } from '../base/messages.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { ExecutedPart } from '../model/model-call.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import { capped } from '../tools/result-size.ts';
import { inputOf, isUsableId, nameOf, readArguments } from '../tools/tool-calls.ts';
import type { ToolTable } from '../tools/tool-table.ts';

type Part = AssistantMessage['content'][number];
type CallPart = Extract<Part, { type: 'tool-call' }>;
type ResultPart = Extract<Part, { type: 'tool-result' }>;

interface ExecutedCallsOptions {
  context: RunContext;
  table: ToolTable;
  maxToolResultBytes: number;
  knownIds(): ReadonlySet<string>;
  emit: ((event: UnsignedEvent) => void) | undefined;
  audit: ((record: CallRecord) => void) | undefined;
}

/** Whether the provider ran a tool for this answer. */
export function hasExecutedCalls(content: readonly LanguageModelV4Content[]): boolean {
  return content.some((part) => part.type === 'tool-result' || (part.type === 'tool-call' && part.providerExecuted));
}

export class ExecutedCalls {
  readonly #options: ExecutedCallsOptions;
  /** Ids of calls that were shown while the model streamed. */
  readonly #shownCalls = new Set<string>();
  readonly #shownResults = new Set<string>();

  constructor(options: ExecutedCallsOptions) {
    this.#options = options;
  }

  /** Shows a call or a result while the model streams. The others are shown with the whole answer, by their final id. */
  show(part: ExecutedPart): void {
    const { toolCallId: id } = part;
    if (part.type === 'tool-call') {
      if (!isUsableId(id, this.#options.knownIds()) || this.#shownCalls.has(id)) return;
      this.#shownCalls.add(id);
      const name = nameOf(part);
      const input = inputOf(part);
      const { arguments: args, malformed } = readArguments(name, input);
      this.#emitCall({ id, name, arguments: malformed ? { malformed_arguments: input } : args });
    } else if (this.#shownCalls.has(id) && !this.#shownResults.has(id)) {
      this.#shownResults.add(id);
      this.#emitResult(providerResultPart(part, id));
    }
  }

  /** Reports the calls of a whole answer. Returns the error of a budget that they used up. */
  report({ content }: AssistantMessage): unknown {
    const { context, table, audit } = this.#options;
    const results = content.filter((part) => part.type === 'tool-result');
    let overBudget: unknown;
    for (const part of content) {
      if (part.type === 'tool-result' && !this.#shownResults.has(part.toolCallId)) this.#emitResult(part);
      if (part.type !== 'tool-call' || !part.providerExecuted) continue;
      const call = callOf(part);
      if (!this.#shownCalls.has(call.id)) this.#emitCall(call);
      const result = results.find(({ toolCallId }) => toolCallId === part.toolCallId);
      const entry = table.find(part.toolName);
      const isOffered = entry?.source.providerTool?.(entry.tool) !== undefined;
      if (!isOffered) this.#warn(part.toolName);
      audit?.({
        call,
        decision: 'allowed',
        by: 'policy',
        reason: `the provider of the model ran it${isOffered ? '' : ', although it was not offered'}`,
        capability: entry?.capability,
        outcome: result && isFailed(result) ? 'failed' : 'done',
        durationMs: 0,
      });
      try {
        context.budget.takeToolCall(context.pathKey, call.name);
      } catch (error) {
        overBudget ??= error;
      }
    }
    return overBudget;
  }

  /** The library cannot stop a provider that runs a tool without an offer. */
  #warn(name: string): void {
    const { agent } = this.#options.context;
    const text = `The provider of the model ran "${printable(name, 100)}", which was not offered: profiles do not apply to it.`;
    warnOnce({ logger: agent.logger, about: agent, key: name, text });
  }

  #emitCall(call: ToolCall): void {
    const data = { ...call, toolCallId: call.id, toolName: call.name, providerExecuted: true as const };
    this.#options.emit?.({ type: 'tool_call', data });
  }

  #emitResult(part: ResultPart): void {
    const { emit, maxToolResultBytes } = this.#options;
    emit?.({ type: 'tool_result', data: resultEvent(part, maxToolResultBytes) });
  }
}

function callOf({ toolCallId, toolName, input }: CallPart): ToolCall {
  return { id: toolCallId, name: toolName, arguments: isRecord(input) ? deepCopy(input) : {} };
}

function resultEvent(part: ResultPart, maxBytes: number) {
  const { toolCallId, toolName, output } = part;
  const value = 'value' in output ? output.value : undefined;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '(no content)');
  const result: ToolResult = {
    toolCallId,
    toolCallName: toolName,
    toolResultContent: capped([{ type: 'text', text }], maxBytes),
    ...(isFailed(part) ? { isError: true } : {}),
    extra: {},
  };
  return { ...result, toolName, providerExecuted: true as const };
}

function isFailed({ output }: ResultPart): boolean {
  return output.type === 'error-json' || output.type === 'error-text';
}
