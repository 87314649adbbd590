// The tool calls of one step, in parallel. Each passes preToolCall, policy, approval and budget, is made, passes the
// result hooks, and is recorded. Each has exactly one result.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import { abortable, deepCopy, errorText, isPocketError, nextTurn, PocketError, within } from '@pocket-agent/kit';
import { isHarmlessTwice } from '../access/capabilities.ts';
import type { CallResults, ToolCall, ToolResult } from '../base/tool-call.ts';
import { inRun, type RunContext, toolCallContext, whileAsking } from '../run/run-context.ts';
import { inToolSpan } from '../tracing/tool-span.ts';
import { permit, preToolCall } from './call-permission.ts';
import { type Gate, InnerCalls, resultMessage } from './inner-calls.ts';
import {
  type ActiveCall,
  beginOf,
  type KeptResult,
  maySuspend,
  newCall,
  note,
  type RequestedCall,
  RunStop,
  type StepCalls,
} from './step-calls.ts';
import { checkedResult, errorToolResult, resultText, toToolResult } from './tool-result.ts';
import { allowedTool, isCaller, type ToolCallContext } from './tool-source.ts';
import type { ToolEntry } from './tool-table.ts';

/** A model may ask for thousands of calls in one answer. After this many, other work of the process gets a turn. */
const CALLS_PER_TURN = 50;

export async function runToolCalls(step: StepCalls, requested: readonly RequestedCall[]): Promise<CallResults> {
  const stop = new RunStop();
  const results: ToolResult[] = [];
  const suspended = new Map<number, ActiveCall>();
  const waiting = requested.entries(); // one iterator for all workers: each takes the next call
  let turn: Promise<void> | undefined;
  const worker = async () => {
    for (const [index, request] of waiting) {
      if (index % CALLS_PER_TURN === CALLS_PER_TURN - 1) turn = turn ? turn.then(nextTurn) : nextTurn();
      if (turn) await turn;
      if (stop.reason !== undefined) {
        results[index] = notRun(step, request);
        continue;
      }
      const active = newCall(step, request, stop);
      results[index] = await gate.pass(active);
      if (active.suspended) suspended.set(index, active);
    }
  };
  const parallel = Math.min(requested.length, step.settings.maxParallelToolCalls);
  const workers = Array.from({ length: parallel }, worker);
  for (const each of workers) await each; // workers never reject
  // a run that fails does not go on, so the calls that wait end with it
  if (stop.reason !== undefined) for (const [index, active] of suspended) results[index] = endUnmade(active);
  return { results, runError: stop.reason, suspended: stop.suspended };
}

/** What every call passes, those of the model and those that tools make. */
const gate: Gate = {
  pass(active) {
    const { step, request } = active;
    const context = toolCallContext(step.context, request.call.id, request.from?.asking);
    return inRun(context, () => inToolSpan(active, () => runToolCall(active, context)));
  },
  skip: notRun,
};

/** Never rejects: also after an abort, or an error in a hook, the call has a result. */
async function runToolCall(active: ActiveCall, context: RunContext): Promise<ToolResult> {
  const { step, request, record, stop } = active;
  const { signal } = step.context;
  const startedAt = performance.now();
  emitCall(step, request);
  let result: ToolResult;
  try {
    signal.throwIfAborted();
    const denial = step.hooks.preToolCall && (await preToolCall(active));
    result = denial ?? (await resultOf(active, await attempt(active, context)));
  } catch (error) {
    result = errorToolResult(request.call, { error: asError(error), settings: step.settings });
    if (!signal.aborted && isPocketError(error, 'RUN_SUSPENDED') && maySuspend(active)) {
      await active.inner?.end();
      active.suspended = error;
      stop.suspended ??= error;
      context.finished = true;
      return result; // not used: the call is made when the run is resumed, or ends with the run
    }
    stop.stop(signal.aborted ? signal.reason : error);
  }
  const innerCalls = active.inner?.end();
  if (innerCalls) result.extra.toolCalls = await innerCalls;
  record.durationMs = Math.round((performance.now() - startedAt) * 10) / 10;
  if (step.journal && !request.from)
    await step.journal.end(resultMessage(request.call.name, result)).catch((error) => stop.stop(error));
  emitResult(step, request, result);
  step.audit?.(record);
  context.finished = true;
  return result;
}

/** Makes the call, if it may be made. What the tool throws is a failure of the tool, not of the run. */
async function attempt(active: ActiveCall, context: RunContext): Promise<Attempt> {
  const { step, request, record } = active;
  const { signal } = step.context;
  const permission = request.isLost ? lost(active) : await permit(active);
  if (permission.error) return permission;
  const { entry } = permission;
  const { source, tool } = entry;
  const { call } = record;
  const begin = beginOf(active);
  active.resumes = begin !== undefined && (source.resumes?.(tool) ?? false);
  // a call of a script keeps its id when it is made again
  if (begin && (active.resumes ? request.from : !isHarmlessTwice(tool))) {
    await begin(call);
    signal.throwIfAborted();
  }
  try {
    const calling = source.callTool(tool.name, deepCopy(call.arguments), callContext(active, context));
    const made = readReturned(active, entry, await abortable(calling, signal));
    await keepWhole(step, call, made);
    return made;
  } catch (error) {
    signal.throwIfAborted();
    if (active.resumes && isPocketError(error, 'RUN_SUSPENDED')) throw error;
    return { entry, error: asError(error) };
  }
}

/** The result of a call of a process that has ended. */
function lost({ record }: ActiveCall): FailedAttempt {
  note(record, { decision: 'allowed', by: 'policy', reason: 'its process ended before its result was saved' });
  record.outcome = 'failed';
  const text = `The process ended while "${record.call.name}" ran. It may or may not have taken effect; check before you try again.`;
  return { entry: undefined, error: new PocketError('TOOL_OUTCOME_UNKNOWN', text) };
}

/** A call that was still waiting for its turn when the run was stopped. */
function notRun(step: StepCalls, request: RequestedCall): ToolResult {
  emitCall(step, request);
  return endUnmade(newCall(step, request, new RunStop()));
}

function endUnmade({ step, request, record }: ActiveCall): ToolResult {
  const error = new PocketError('ABORTED', 'This call was not run: the run was stopped before it.');
  const result = errorToolResult(request.call, { error, settings: step.settings });
  emitResult(step, request, result);
  step.audit?.({ ...record, reason: error.message });
  return result;
}

function emitCall(step: StepCalls, { call, from }: RequestedCall): void {
  step.emit?.({ type: 'tool_call', data: { ...call, toolCallId: call.id, toolName: call.name, ...parentOf(from) } });
}

function emitResult(step: StepCalls, { from }: RequestedCall, result: ToolResult): void {
  step.emit?.({ type: 'tool_result', data: { ...result, toolName: result.toolCallName, ...parentOf(from) } });
}

function parentOf(from: RequestedCall['from']): { parentToolCallId?: string } {
  return from ? { parentToolCallId: from.toolCallId } : {};
}

function callContext(active: ActiveCall, run: RunContext): ToolCallContext {
  active.inner = new InnerCalls(active, gate);
  const { step, request, record } = active;
  const { id: toolCallId, name: toolName } = record.call;
  const { signal, policy, metadata } = step.context;
  return {
    toolCallId,
    signal,
    caller: policy.caller,
    metadata,
    progress: (update) =>
      step.emit?.({ type: 'tool_progress', data: { toolCallId, toolName, ...parentOf(request.from), ...update } }),
    meta: step.metaOf(toolCallId),
    elicit: request.from && personOf(step, run),
    canResume: active.resumes ?? false,
    tools: active.inner,
  };
}

function personOf({ elicit: ofAgent }: StepCalls, { elicit = ofAgent, asking }: RunContext): ToolCallContext['elicit'] {
  return elicit && ((params, from) => whileAsking(asking, async () => elicit(params, from)));
}

/** A call that was made, or could not be. */
type Attempt = SuccessfulAttempt | FailedAttempt;

interface SuccessfulAttempt {
  error?: undefined;
  returned: CallToolResult;
  /** Undefined if `onToolResult` makes it. */
  result: ToolResult | undefined;
  whole?: string | undefined;
  kept?: KeptResult | undefined;
}

interface FailedAttempt {
  error: Error;
  entry: ToolEntry | undefined;
  /** The error result of the tool itself. */
  result?: ToolResult;
  whole?: string | undefined;
  kept?: KeptResult | undefined;
}

/** Throws for an answer that cannot be read: that is a failure of the tool, not of the run. */
function readReturned({ step, record }: ActiveCall, entry: ToolEntry, returned: CallToolResult): Attempt {
  const { call } = record;
  if (!returned.isError) {
    const read = step.hooks.onToolResult ? undefined : toToolResult(call, returned, step.settings);
    record.outcome = 'done';
    return { returned, result: read?.result, whole: read?.whole };
  }
  const text = resultText(returned);
  const code = looksLikeBadArguments(text, entry) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_FAILED';
  return { entry, error: new PocketError(code, text), ...toToolResult(call, returned, step.settings) };
}

async function keepWhole(step: StepCalls, call: ToolCall, made: Attempt): Promise<void> {
  if (made.whole === undefined) return;
  made.kept = await abortable(step.keepResult(call, made.whole), step.context.signal);
  if (made.kept) made.result?.toolResultContent.push({ type: 'text', text: made.kept.note });
}

/** What the model reads, after the hooks. */
async function resultOf(active: ActiveCall, made: Attempt): Promise<ToolResult> {
  const { step, record } = active;
  const { hooks, hookContext } = step;
  const { signal } = step.context;
  const { call } = record;
  let result: ToolResult;
  if (made.error) result = await failedResult(active, made);
  else if (made.result) result = made.result;
  else {
    const read = await within(signal, hooks.onToolResult?.(hookContext, call, made.returned));
    result = deepCopy(checkedResult(call, read));
  }
  if (record.decision === 'edited') result.toolResultContent.unshift(editedNote(call));
  const changed = await within(signal, hooks.postToolCall?.(hookContext, call, deepCopy(result)));
  if (!changed) {
    if (!made.error && made.result) active.returned = made.returned;
    return result;
  }
  await made.kept?.discard();
  return deepCopy(checkedResult(call, changed));
}

function editedNote({ arguments: args }: ToolCall): { type: 'text'; text: string } {
  return { type: 'text', text: `[The approver changed the arguments of this call to ${JSON.stringify(args)}]` };
}

async function failedResult({ step, record, stop }: ActiveCall, failed: FailedAttempt): Promise<ToolResult> {
  const { settings } = step;
  const { call } = record;
  const { error, entry, result: ownResult } = failed;
  const decision = await within(step.context.signal, step.hooks.onToolError?.(step.hookContext, call, error));
  if (typeof decision === 'string') return errorToolResult(call, { error, message: decision, settings });
  if (decision === false) {
    const text = `Tool "${call.name}" failed and the run was stopped: ${errorText(error)}`;
    stop.stop(new PocketError('TOOL_FAILED', text, { cause: error }));
  }
  const result = ownResult ?? errorToolResult(call, { error, settings });
  const isBadArguments =
    isPocketError(error, 'TOOL_ARGUMENTS_INVALID') || looksLikeBadArguments(errorText(error), entry);
  const tool = entry && isBadArguments ? visibleTool(step, entry) : undefined;
  const schema = tool && JSON.stringify(tool.inputSchema);
  // schemas of servers may be huge, and the model has this one already
  if (schema !== undefined && Buffer.byteLength(schema) <= settings.maxToolResultBytes) {
    const text = `Call it again with arguments that fit this JSON Schema: ${schema}`;
    result.toolResultContent.push({ type: 'text', text });
  }
  return result;
}

/** Without the choices that the model may not see. */
function visibleTool({ context: { policy } }: StepCalls, entry: ToolEntry): Tool | undefined {
  return allowedTool(entry.source, entry, (tool) => policy.refusal(tool) === undefined);
}

/** How MCP servers in several languages word a complaint about arguments. Code may quote that of a call it makes. */
function looksLikeBadArguments(text: string, entry: ToolEntry | undefined): boolean {
  if (entry && isCaller(entry.source)) return false;
  return /validation error|invalid (arguments|params|parameters|input)|unexpected.?keyword|missing required|-32602/i.test(
    text,
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}
