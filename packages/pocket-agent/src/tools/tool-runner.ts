// The tool calls of one step: all at once, each through its hooks, each with exactly one result.
import type { CallToolResult } from '@modelcontextprotocol/client';
import {
  abortable,
  deepCopy,
  describeAvailable,
  errorText,
  isPocketError,
  PocketError,
  snapshot,
  within,
} from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import { type CallPlace, enter, refusalByPeople, refusalByRules } from '../access/permission.ts';
import type { AgentHooks, HookContext } from '../agent/hooks.ts';
import type { UnsignedEvent } from '../base/events.ts';
import { asPartOf } from '../base/run-frame.ts';
import { checkedResult, errorToolResult, resultText, type ToolResultOptions, toToolResult } from './tool-result.ts';
import type { ToolCall, ToolEntry, ToolResult, ToolTable } from './tools.ts';

/** A call as the model wrote it: its arguments may not be what they should be. */
export interface RequestedCall {
  call: ToolCall;
  malformed?: PocketError;
}

export interface ToolRun extends CallPlace {
  hooks: AgentHooks;
  context: HookContext;
  /** What the model was shown. */
  table: ToolTable;
  /** Undefined when nobody keeps records. */
  audit: ((record: CallRecord) => void) | undefined;
  settings: ToolResultOptions & { maxParallelToolCalls: number };
  /** What travels to MCP servers with a call. */
  metaOf(call: ToolCall): Record<string, unknown>;
  emit(event: UnsignedEvent): void;
  /** The first call of the step. What waits elsewhere for an earlier step is waited for no more. */
  stepId?: string | undefined;
}

export interface ToolRunOutcome {
  /** In the order of the calls. */
  results: ToolResult[];
  /** Why the run must stop, after the results are in the history. */
  failure: unknown;
}

export async function runToolCalls(run: ToolRun, requested: readonly RequestedCall[]): Promise<ToolRunOutcome> {
  const failures: unknown[] = [];
  const stop = (failure: unknown) => void failures.push(failure);
  const answer = (request: RequestedCall) => (failures.length > 0 ? notRun(run, request) : runOne(run, request, stop));
  const { maxParallelToolCalls } = run.settings;
  const [only] = requested;
  run.stepId = only?.call.id;
  const results =
    requested.length === 1 && only
      ? [await answer(only)]
      : requested.length <= maxParallelToolCalls
        ? await Promise.all(requested.map(answer))
        : await inTurns(requested, maxParallelToolCalls, answer);
  return { results, failure: failures[0] };
}

/** As many at once as may be. */
async function inTurns(
  requested: readonly RequestedCall[],
  atOnce: number,
  answer: (request: RequestedCall) => ToolResult | Promise<ToolResult>,
): Promise<ToolResult[]> {
  const results: ToolResult[] = [];
  const waiting = requested.entries();
  const worker = async () => {
    for (const [index, request] of waiting) results[index] = await answer(request);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}

function runOne(run: ToolRun, request: RequestedCall, stop: (failure: unknown) => void): Promise<ToolResult> {
  const { call } = request;
  const started = run.audit ? performance.now() : 0;
  const record: CallRecord = {
    call,
    decision: 'refused',
    by: 'policy',
    reason: 'it ended before anything was decided',
    capability: undefined,
    outcome: 'not run',
    durationMs: 0,
  };
  const frame = { ...run.frame, parent: run.frame, listener: undefined, toolCallId: call.id };
  return asPartOf(frame, async () => {
    try {
      run.emit({ type: 'tool_call', data: { ...call, toolCallId: call.id, toolName: call.name } });
      let result: ToolResult;
      try {
        run.frame.signal.throwIfAborted();
        result = await attempt(run, request, record, stop);
      } catch (error) {
        // an abort, or a hook that threw: the call is answered all the same
        stop(run.frame.signal.aborted ? run.frame.signal.reason : error);
        result = errorToolResult(call, errorText(error), asError(error), run.settings);
      }
      run.emit({ type: 'tool_result', data: { ...result, toolName: result.toolCallName } });
      run.audit?.({ ...record, durationMs: Math.round((performance.now() - started) * 10) / 10 });
      return result;
    } finally {
      frame.finished = true;
    }
  });
}

async function attempt(
  run: ToolRun,
  request: RequestedCall,
  record: CallRecord,
  stop: (failure: unknown) => void,
): Promise<ToolResult> {
  const { hooks, context } = run;
  const { signal } = run.frame;
  const mayReplace = request.malformed ? undefined : hooks.preToolCall?.(context, deepCopy(request.call));
  const replaced = mayReplace && (await within(signal, mayReplace));
  if (replaced && 'deny' in replaced) {
    enter(record, 'denied', 'hook', replaced.deny);
    const denied = new PocketError('TOOL_DENIED', `This call was denied: ${replaced.deny}`);
    return errorToolResult(request.call, denied.message, denied, run.settings);
  }
  // the model knows the call by its id, so the id is not the hook's to change
  const call = replaced ? snapshot({ ...replaced, id: request.call.id }) : request.call;
  record.call = call;
  const outcome = await callTool(run, call, request.malformed, record);
  const made = outcome.error
    ? failedResult(run, call, outcome, stop)
    : (outcome.result ?? resultByHook(run, record.call, outcome.answer));
  const result = made instanceof Promise ? await made : made;
  if (record.decision === 'edited') result.toolResultContent.unshift(editedNote(record.call));
  const mayChange = hooks.postToolCall?.(context, record.call, deepCopy(result));
  const changed = mayChange && (await within(signal, mayChange));
  return changed ? deepCopy(checkedResult(request.call, changed)) : result;
}

interface Success {
  error?: undefined;
  answer: CallToolResult;
  /** Undefined when `onToolResult` makes it. */
  result: ToolResult | undefined;
}

interface Failure {
  error: Error;
  entry: ToolEntry | undefined;
  /** What the tool itself had to say. */
  result?: ToolResult;
}

async function callTool(
  run: ToolRun,
  call: ToolCall,
  malformed: PocketError | undefined,
  record: CallRecord,
): Promise<Success | Failure> {
  const { frame, table } = run;
  const now = run.tableNow();
  const entry = (now instanceof Promise ? await abortable(now, frame.signal) : now).find(call.name);
  if (!entry) {
    const names = table.entries.map(({ name }) => name);
    enter(record, 'refused', 'profile', 'there is no such tool');
    return {
      entry,
      error: new PocketError('TOOL_UNKNOWN', `There is no tool "${call.name}". ${describeAvailable(call.name, names)}`),
    };
  }
  record.capability = entry.capability;
  const refusing = refusalByRules(run, entry, record) ?? (malformed ? undefined : refusalByPeople(run, entry, record));
  const refused = refusing instanceof Promise ? await refusing : refusing;
  if (refused) {
    // of a tool that may not be called the schema is nobody's business
    return { entry: refused.code === 'TOOL_ARGUMENTS_INVALID' ? entry : undefined, error: refused };
  }
  if (malformed) {
    record.reason = 'its arguments could not be read';
    return { entry, error: malformed };
  }
  const { arguments: args } = record.call;
  frame.budget.takeToolCall(frame.place, call.name);
  record.outcome = 'failed';
  try {
    const meta = run.metaOf(call);
    meta.step_id ??= run.stepId;
    const calling = entry.source.callTool(entry.tool.name, deepCopy(args), {
      toolCallId: call.id,
      signal: frame.signal,
      progress: (update) =>
        run.emit({ type: 'tool_progress', data: { toolCallId: call.id, toolName: call.name, ...update } }),
      meta,
    });
    const answer = await abortable(calling, frame.signal);
    if (!answer.isError) {
      // here, because what cannot be read as a result is a failure of the tool and not of the run
      const result = run.hooks.onToolResult ? undefined : toToolResult(call, answer, run.settings);
      record.outcome = 'done';
      return { answer, result };
    }
    const text = resultText(answer);
    const code = looksLikeBadArguments(text) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_FAILED';
    return { entry, error: new PocketError(code, text), result: toToolResult(call, answer, run.settings) };
  } catch (error) {
    frame.signal.throwIfAborted();
    return { entry, error: asError(error) };
  }
}

function editedNote(call: ToolCall): { type: 'text'; text: string } {
  return {
    type: 'text',
    text: `[Whoever approved this call changed its arguments to ${JSON.stringify(call.arguments)}]`,
  };
}

function resultByHook(run: ToolRun, call: ToolCall, answer: CallToolResult): ToolResult | Promise<ToolResult> {
  const made = within(run.frame.signal, run.hooks.onToolResult?.(run.context, call, answer));
  const own = (result: ToolResult | undefined) => deepCopy(checkedResult(call, result));
  return made instanceof Promise ? made.then(own) : own(made);
}

async function failedResult(
  run: ToolRun,
  call: ToolCall,
  { error, entry, result: said }: Failure,
  stop: (failure: unknown) => void,
): Promise<ToolResult> {
  const decision = await within(run.frame.signal, run.hooks.onToolError?.(run.context, call, error));
  if (typeof decision === 'string') return errorToolResult(call, decision, error, run.settings);
  if (decision === false) {
    stop(
      new PocketError('TOOL_FAILED', `Tool "${call.name}" failed and the run was stopped: ${errorText(error)}`, {
        cause: error,
      }),
    );
  }
  const result = said ?? errorToolResult(call, errorText(error), error, run.settings);
  const isBadArguments = isPocketError(error, 'TOOL_ARGUMENTS_INVALID') || looksLikeBadArguments(errorText(error));
  const schema = entry && isBadArguments ? JSON.stringify(entry.tool.inputSchema) : undefined;
  // servers write schemas of any length, and the model knows this one already
  if (schema !== undefined && Buffer.byteLength(schema) <= run.settings.maxToolResultBytes) {
    result.toolResultContent.push({
      type: 'text',
      text: `Call it again with arguments that fit this JSON Schema: ${schema}`,
    });
  }
  return result;
}

/** A call that was still waiting when the run was stopped. */
function notRun(run: ToolRun, { call }: RequestedCall): ToolResult {
  const error = new PocketError('ABORTED', 'This call was not run: the run was stopped before it.');
  const nothing = { capability: undefined, outcome: 'not run' as const, durationMs: 0 };
  run.audit?.({ call, decision: 'refused', by: 'policy', reason: error.message, ...nothing });
  const result = errorToolResult(call, error.message, error, run.settings);
  run.emit({ type: 'tool_call', data: { ...call, toolCallId: call.id, toolName: call.name } });
  run.emit({ type: 'tool_result', data: { ...result, toolName: call.name } });
  return result;
}

/** How MCP servers of several languages word a complaint about arguments. */
function looksLikeBadArguments(text: string): boolean {
  return /validation error|invalid (arguments|params|parameters|input)|unexpected.?keyword|missing required|-32602/i.test(
    text,
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}
