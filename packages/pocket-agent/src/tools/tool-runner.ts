// The tool calls of one step, in parallel. Each passes preToolCall, policy, approval and budget, runs, passes the result
// hooks, and is recorded. Each has exactly one result.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  deepCopy,
  errorText,
  isPocketError,
  nextTurn,
  PocketError,
  readableError,
  within,
} from '@pocket-agent/kit';
import { isRepeatable } from '../access/capabilities.ts';
import { type CallResults, outcomeUnknown, type ToolCall, type ToolResult } from '../base/tool-call.ts';
import { whileAsking } from '../run/run-context.ts';
import { permit, preToolCall } from './call-permission.ts';
import { type Gate, InnerCalls } from './inner-calls.ts';
import {
  type ActiveCall,
  beginSaver,
  inCall,
  type KeptResult,
  maySuspend,
  newCall,
  noteVerdict,
  type RequestedCall,
  RunStop,
  type StepCalls,
} from './step-calls.ts';
import { checkedResult, errorToolResult, resultMessage, resultText, toToolResult } from './tool-result.ts';
import { allowedTool, isCaller, type ToolCallContext } from './tool-source.ts';
import type { ToolEntry } from './tool-table.ts';

/** A model may ask for thousands of calls in one answer. After this many, other work of the process gets a turn. */
const CALLS_PER_TURN = 50;

export async function runToolCalls(step: StepCalls, requested: readonly RequestedCall[]): Promise<CallResults> {
  const stop = new RunStop();
  const results: ToolResult[] = [];
  const suspended = new Map<number, ActiveCall>();
  const waiting = requested.entries(); // one iterator for all workers: each takes the next call
  const turnBefore = turnsOfCalls();
  const worker = async () => {
    for (const [index, request] of waiting) {
      const turn = turnBefore(index);
      if (turn) await turn;
      if (stop.reason !== undefined) {
        results[index] = skipCall(step, request);
        continue;
      }
      const active = newCall({ step, request, stop });
      results[index] = await inCall(active, () => runToolCall(active));
      if (active.suspended) suspended.set(index, active);
    }
  };
  const parallel = Math.min(requested.length, step.settings.maxParallelToolCalls);
  await Promise.all(Array.from({ length: parallel }, worker)); // workers never reject
  // a failed run is not resumed, so its suspended calls end with it
  if (stop.reason !== undefined) for (const [index, active] of suspended) results[index] = endSkipped(active);
  return { results, runError: stop.reason, suspended: stop.suspended };
}

/** What each call waits for. All workers share it, so that together they pause after `CALLS_PER_TURN` calls. */
function turnsOfCalls(): (index: number) => Promise<void> | undefined {
  let turn: Promise<void> | undefined;
  return (index) => {
    if (index % CALLS_PER_TURN === CALLS_PER_TURN - 1) turn = turn ? turn.then(nextTurn) : nextTurn();
    return turn;
  };
}

/** The same for calls that tools make. */
const gate: Gate = { pass: runToolCall, skip: skipCall };

/**
 * The gate that every call passes that is not skipped. Never rejects: also after an abort, or an error in a hook, the call has
 * a result. If the call is `suspended`, the result is a placeholder and must not be used.
 */
async function runToolCall(active: ActiveCall): Promise<ToolResult> {
  const { step, request, record, stop, context } = active;
  const { signal } = context;
  const startedAt = performance.now();
  emitCall(step, request);
  let result: ToolResult;
  try {
    signal.throwIfAborted();
    const denial = step.hooks.preToolCall && (await preToolCall(active));
    result = denial ?? (await resultForModel(active, await makeCall(active)));
  } catch (error) {
    result = errorToolResult(request.call, { error: asError(error), settings: step.settings });
    if (!signal.aborted && isPocketError(error, 'RUN_SUSPENDED') && maySuspend(active)) {
      await active.inner?.end();
      active.suspended = error;
      stop.suspended ??= error;
      context.finished = true;
      return result; // a placeholder: the call runs when the run is resumed, or ends with the run
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

/** Makes the call if it is permitted. An error of the tool fails the call, not the run. */
async function makeCall(active: ActiveCall): Promise<CallOutcome> {
  const { step, request, record } = active;
  const { signal } = active.context;
  const permission = request.isLost ? lostCall(active) : await permit(active);
  if (permission.error) return permission;
  const { entry } = permission;
  const { source, tool } = entry;
  const { call } = record;
  const saveBegin = beginSaver(active);
  active.canResume = saveBegin !== undefined && (source.resumes?.(tool) ?? false);
  // a tool that resumes is called again, so nothing is lost; but a script must call it by the same id, which is saved here
  const mustRecord = active.canResume ? request.from !== undefined : !isRepeatable(tool);
  if (saveBegin && mustRecord) await saveBegin(call);
  else if (!request.from) await step.journal?.ready();
  if (saveBegin) signal.throwIfAborted();
  try {
    const calling = source.callTool(tool.name, deepCopy(call.arguments), callContext(active));
    const outcome = readReturned(active, entry, await abortable(calling, signal));
    await keepFullText(step, call, outcome);
    return outcome;
  } catch (error) {
    signal.throwIfAborted();
    if (active.canResume && isPocketError(error, 'RUN_SUSPENDED')) throw error;
    return { entry, error: asError(error) };
  }
}

/** The outcome of a call that another process began and did not finish. */
function lostCall({ record }: ActiveCall): FailedCall {
  noteVerdict(record, { decision: 'allowed', by: 'policy', reason: 'its process ended before its result was saved' });
  record.outcome = 'failed';
  return { entry: undefined, error: outcomeUnknown(`The process ended while "${record.call.name}" ran`) };
}

/** A call that was still waiting for its turn when the run was stopped. */
function skipCall(step: StepCalls, request: RequestedCall): ToolResult {
  emitCall(step, request);
  return endSkipped(newCall({ step, request, stop: new RunStop() }));
}

function endSkipped({ step, request, record }: ActiveCall): ToolResult {
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

function callContext(active: ActiveCall): ToolCallContext {
  active.inner = new InnerCalls(active, gate);
  const { step, request, record } = active;
  const { id: toolCallId, name: toolName } = record.call;
  const { signal, policy, metadata } = active.context;
  return {
    toolCallId,
    signal,
    caller: policy.caller,
    metadata,
    progress: (update) =>
      step.emit?.({ type: 'tool_progress', data: { toolCallId, toolName, ...parentOf(request.from), ...update } }),
    meta: step.metaOf(toolCallId),
    elicit: request.from && elicitFor(active),
    canResume: active.canResume ?? false,
    tools: active.inner,
  };
}

function elicitFor({ step, context }: ActiveCall): ToolCallContext['elicit'] {
  const { elicit = step.elicit, asking } = context;
  return elicit && ((params, from) => whileAsking(asking, async () => elicit(params, from)));
}

type CallOutcome = SuccessfulCall | FailedCall;

interface CutResult {
  /** The whole text of a result that was cut. */
  fullText?: string | undefined;
  kept?: KeptResult | undefined;
}

interface SuccessfulCall extends CutResult {
  error?: undefined;
  returned: CallToolResult;
  /** Undefined if `onToolResult` makes it. */
  result: ToolResult | undefined;
}

/** A call that failed or was refused. */
interface FailedCall extends CutResult {
  error: Error;
  entry: ToolEntry | undefined;
  /** The error result of the tool itself. */
  result?: ToolResult;
}

/** Throws for a result that cannot be read: an error of the tool. */
function readReturned({ step, record }: ActiveCall, entry: ToolEntry, returned: CallToolResult): CallOutcome {
  const { call } = record;
  if (!returned.isError) {
    const read = step.hooks.onToolResult ? undefined : toToolResult(call, returned, step.settings);
    record.outcome = 'done';
    return { returned, result: read?.result, fullText: read?.fullText };
  }
  const text = resultText(returned);
  const code = looksLikeBadArguments(text, entry) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_FAILED';
  return { entry, error: new PocketError(code, text), ...toToolResult(call, returned, step.settings) };
}

async function keepFullText(step: StepCalls, call: ToolCall, outcome: CallOutcome): Promise<void> {
  if (outcome.fullText === undefined) return;
  outcome.kept = await abortable(step.keepResult(call, outcome.fullText), step.context.signal);
  if (outcome.kept) outcome.result?.toolResultContent.push({ type: 'text', text: outcome.kept.note });
}

/** The result that the model reads, after the hooks. */
async function resultForModel(active: ActiveCall, outcome: CallOutcome): Promise<ToolResult> {
  const { step, record } = active;
  const { hooks, hookContext } = step;
  const { signal } = step.context;
  const { call } = record;
  let result: ToolResult;
  if (outcome.error) result = await failedResult(active, outcome);
  else if (outcome.result) result = outcome.result;
  else {
    const converted = await within(signal, hooks.onToolResult?.(hookContext, call, outcome.returned));
    result = deepCopy(checkedResult(call, converted));
  }
  if (record.decision === 'edited') result.toolResultContent.unshift(editedNote(call));
  const changed = await within(signal, hooks.postToolCall?.(hookContext, call, deepCopy(result)));
  if (!changed) {
    if (!outcome.error && outcome.result) active.returned = outcome.returned;
    return result;
  }
  await outcome.kept?.discard();
  return deepCopy(checkedResult(call, changed));
}

function editedNote({ arguments: args }: ToolCall): { type: 'text'; text: string } {
  return { type: 'text', text: `[The approver changed the arguments of this call to ${JSON.stringify(args)}]` };
}

async function failedResult({ step, record, stop }: ActiveCall, failed: FailedCall): Promise<ToolResult> {
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
  // a schema may be huge, and the model has it already
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

/** How MCP servers in several languages complain about arguments. Code may quote the complaint about a call that it made. */
function looksLikeBadArguments(text: string, entry: ToolEntry | undefined): boolean {
  if (entry && isCaller(entry.source)) return false;
  return /validation error|invalid (arguments|params|parameters|input)|unexpected.?keyword|missing required|-32602/i.test(
    text,
  );
}

function asError(thrown: unknown): Error {
  const error = readableError(thrown);
  return error instanceof Error ? error : new Error(errorText(error));
}
