// Tool calls that the provider ran: shown as events, audited and counted like other calls, but after the fact.
import type { LanguageModelV4Content } from '@ai-sdk/provider';
import { deepCopy } from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import type { AssistantMessage } from '../base/messages.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { UnsignedEvent } from '../run/events.ts';
import type { RunContext } from '../run/run-context.ts';
import { capped } from '../tools/result-size.ts';
import type { ToolTable } from '../tools/tool-table.ts';

type Part = AssistantMessage['content'][number];
type CallPart = Extract<Part, { type: 'tool-call' }>;
type ResultPart = Extract<Part, { type: 'tool-result' }>;

interface ExecutedCalls {
  message: AssistantMessage;
  context: RunContext;
  table: ToolTable;
  maxToolResultBytes: number;
  emit: ((event: UnsignedEvent) => void) | undefined;
  audit: ((record: CallRecord) => void) | undefined;
}

/** Whether the provider ran a tool for this answer. */
export function hasExecutedCalls(content: readonly LanguageModelV4Content[]): boolean {
  return content.some((part) => part.type === 'tool-result' || (part.type === 'tool-call' && part.providerExecuted));
}

/** Returns the error of a budget that these calls have used up; the caller throws it when the step is complete. */
export function reportExecutedCalls(executed: ExecutedCalls): unknown {
  const { message, context, table } = executed;
  const results = message.content.filter((part) => part.type === 'tool-result');
  let overBudget: unknown;
  for (const part of message.content) {
    if (part.type === 'tool-result') executed.emit?.({ type: 'tool_result', data: resultEvent(part, executed) });
    if (part.type !== 'tool-call' || !part.providerExecuted) continue;
    const call = callOf(part);
    executed.emit?.({
      type: 'tool_call',
      data: { ...call, toolCallId: call.id, toolName: call.name, providerExecuted: true },
    });
    const result = results.find(({ toolCallId }) => toolCallId === part.toolCallId);
    executed.audit?.({
      call,
      decision: 'allowed',
      by: 'policy',
      reason: 'the provider of the model ran it',
      capability: table.find(part.toolName)?.capability,
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

function callOf({ toolCallId, toolName, input }: CallPart): ToolCall {
  return { id: toolCallId, name: toolName, arguments: deepCopy(input) as Record<string, unknown> };
}

function resultEvent(part: ResultPart, { maxToolResultBytes }: ExecutedCalls) {
  const { toolCallId, toolName, output } = part;
  const value = 'value' in output ? output.value : undefined;
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '(no content)');
  const result: ToolResult = {
    toolCallId,
    toolCallName: toolName,
    toolResultContent: capped([{ type: 'text', text }], maxToolResultBytes),
    ...(isFailed(part) ? { isError: true } : {}),
    extra: {},
  };
  return { ...result, toolName, providerExecuted: true as const };
}

function isFailed({ output }: ResultPart): boolean {
  return output.type === 'error-json' || output.type === 'error-text';
}
