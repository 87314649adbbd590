// The span of one tool call, and the events of its approval.
import { currentSpan, errorTypeOf, hasTelemetry, inSpan, recordValue } from '@pocket-agent/kit';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { TracedContent } from './content.ts';

/** The part of a tool call that its span shows. */
interface TracedToolCall {
  context: { agent: { readonly name: string }; content: TracedContent | undefined };
  request: { call: ToolCall };
  /** Filled in while the call is decided and runs. */
  record: { decision: string; by: string; capability: string | undefined };
}

/** Models may write long names. */
const MAX_NAME = 128;

const duration = {
  name: 'gen_ai.execute_tool.duration',
  unit: 's',
  description: 'Duration of a single tool execution',
  buckets: Array.from({ length: 14 }, (_, power) => 0.01 * 2 ** power),
};

/** A call that failed or was refused has a result too, so `work` does not reject. */
export function inToolSpan(traced: TracedToolCall, work: () => Promise<ToolResult>): Promise<ToolResult> {
  return hasTelemetry() ? inNewSpan(traced, work) : work();
}

function inNewSpan(
  { context, request: { call }, record }: TracedToolCall,
  work: () => Promise<ToolResult>,
): Promise<ToolResult> {
  const { agent, content } = context;
  const tool = call.name.slice(0, MAX_NAME);
  const about = { 'gen_ai.tool.name': tool, 'gen_ai.tool.type': 'function', 'gen_ai.agent.name': agent.name };
  const request = () => ({
    name: `execute_tool ${tool}`,
    attributes: {
      'gen_ai.operation.name': 'execute_tool',
      ...about,
      'gen_ai.tool.call.id': call.id,
      'gen_ai.tool.call.arguments': content?.json(call.arguments),
    },
  });
  return inSpan(request, async (span) => {
    if (!span) return work();
    const startedAt = performance.now();
    const result = await work();
    const { error } = result.extra;
    const failure = result.isError ? (error ? errorTypeOf(error) : 'tool_error') : undefined;
    if (failure) span.fail(failure, content && error instanceof Error ? error.message : undefined);
    span.set({
      'pocket_agent.tool.decision': record.decision,
      'pocket_agent.tool.decided_by': record.by,
      'pocket_agent.tool.capability': record.capability,
      'gen_ai.tool.call.result': failure ? undefined : content?.json(result.toolResultContent.map(shownPart)),
    });
    recordValue(duration, (performance.now() - startedAt) / 1_000, { ...about, 'error.type': failure });
    return result;
  });
}

function shownPart(part: ToolResult['toolResultContent'][number]): object {
  return part.type === 'text' ? part : { type: part.type, mime_type: part.mediaType };
}

/** Two events of the span of the call: the question, and its answer. */
export async function withApprovalEvents<Decision extends { allowed: boolean; by?: string; edited?: boolean }>(
  { tool, capability }: { tool: string; capability: string },
  asking: Promise<Decision>,
): Promise<Decision> {
  const span = currentSpan();
  if (!span) return asking;
  span.event('pocket_agent.approval.requested', { tool, capability });
  const decision = await asking;
  const { allowed, by = 'approver', edited = false } = decision;
  span.event('pocket_agent.approval.answered', { allowed, by, edited });
  return decision;
}
