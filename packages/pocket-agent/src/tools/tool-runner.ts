// The tool calls of one step, in parallel. Each passes preToolCall, policy, approval and budget, is made, passes the
// result hooks, and is recorded. Each has exactly one result.
import type { CallToolResult, Tool } from '@modelcontextprotocol/client';
import {
  abortable,
  configError,
  deepCopy,
  describeAvailable,
  errorText,
  isPocketError,
  isRecord,
  nextTurn,
  PocketError,
  snapshot,
  within,
} from '@pocket-agent/kit';
import type { CallRecord } from '../access/audit.ts';
import type { JudgedTool } from '../access/capabilities.ts';
import { denied, type Refused, type Verdict } from '../access/policy.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import type { UnsignedEvent } from '../run/events.ts';
import { inRun, type RunContext, toolCallContext } from '../run/run-context.ts';
import type { ToolHooks } from './tool-hooks.ts';
import { checkedResult, errorToolResult, resultText, type ToolResultOptions, toToolResult } from './tool-result.ts';
import { allowedTool, judgedCall, type ToolCallContext } from './tool-source.ts';
import type { ToolEntry, ToolTable } from './tool-table.ts';

/** A call as the model wrote it, or the reason why it cannot be read. */
export interface RequestedCall {
  call: ToolCall;
  malformed?: PocketError;
}

export interface ToolRun {
  context: RunContext;
  hooks: ToolHooks<unknown>;
  hookContext: unknown;
  /** What the model was shown. */
  table: ToolTable;
  /** The tools there are now, as lists change during a step; undefined if they must be collected again. */
  knownTable(): ToolTable | undefined;
  collectTools(): Promise<ToolTable>;
  settings: ToolResultOptions & { maxParallelToolCalls: number };
  /** Keeps the whole text of a result that was cut. */
  keepResult(call: ToolCall, text: string): Promise<KeptResult | undefined>;
  /** `_meta` of a call to an MCP server. */
  metaOf(toolCallId: string): Record<string, unknown>;
  /** Undefined if records are neither kept nor observed. */
  audit: ((record: CallRecord) => void) | undefined;
  /** Undefined if there is no listener. */
  emit: ((event: UnsignedEvent) => void) | undefined;
}

/** A result that can be read again. */
export interface KeptResult {
  /** Tells the model how. */
  note: string;
  /** A hook has changed the result: what it removed must not be read. */
  discard(): Promise<void>;
}

interface ToolRunOutcome {
  /** In the order of the calls. */
  results: ToolResult[];
  /** Why the run must stop, after the results are in the history. */
  failure: unknown;
}

type Stop = (failure: unknown) => void;

/** A call between the request of the model and its result. */
interface ActiveCall {
  run: ToolRun;
  request: RequestedCall;
  record: CallRecord;
  /** Ends the run after this step. */
  stop: Stop;
}

/** A model may ask for thousands of calls in one answer. After this many, other work of the process gets a turn. */
const CALLS_PER_TURN = 50;

export async function runToolCalls(run: ToolRun, requested: readonly RequestedCall[]): Promise<ToolRunOutcome> {
  const failures: unknown[] = [];
  const stop: Stop = (failure) => void failures.push(failure);
  const results: ToolResult[] = [];
  const waiting = requested.entries();
  let turn: Promise<void> | undefined;
  const worker = async () => {
    for (const [index, request] of waiting) {
      if (index % CALLS_PER_TURN === CALLS_PER_TURN - 1) turn = turn ? turn.then(nextTurn) : nextTurn();
      if (turn) await turn;
      if (failures.length > 0) {
        results[index] = notRun(run, request);
        continue;
      }
      const context = toolCallContext(run.context, request.call.id);
      results[index] = await inRun(context, () => runToolCall(run, request, stop));
      context.finished = true;
    }
  };
  const parallel = Math.min(requested.length, run.settings.maxParallelToolCalls);
  const workers = Array.from({ length: parallel }, worker);
  for (const each of workers) await each; // none rejects
  return { results, failure: failures[0] };
}

/** Never rejects: also after an abort, or an error in a hook, the call has a result. */
async function runToolCall(run: ToolRun, request: RequestedCall, stop: Stop): Promise<ToolResult> {
  const { signal } = run.context;
  const startedAt = performance.now();
  const record = newRecord(request.call);
  const active: ActiveCall = { run, request, record, stop };
  emitCall(run, request.call);
  let result: ToolResult;
  try {
    signal.throwIfAborted();
    const denial = run.hooks.preToolCall && (await preToolCall(active));
    if (denial) result = denial;
    else {
      const permission = await permit(active);
      let outcome: Outcome;
      if (permission.error) outcome = permission;
      else {
        const { source, tool } = permission.entry;
        const { call } = record;
        try {
          const calling = source.callTool(tool.name, deepCopy(call.arguments), callContext(run, call));
          outcome = readToolAnswer(active, permission.entry, await abortable(calling, signal));
          if (outcome.whole !== undefined) await keepWhole(run, call, outcome);
        } catch (error) {
          signal.throwIfAborted();
          outcome = { entry: permission.entry, error: asError(error) };
        }
      }
      result = await resultOf(active, outcome);
    }
  } catch (error) {
    stop(signal.aborted ? signal.reason : error);
    result = errorToolResult(request.call, { error: asError(error), settings: run.settings });
  }
  emitResult(run, result);
  run.audit?.({ ...record, durationMs: Math.round((performance.now() - startedAt) * 10) / 10 });
  return result;
}

/** A call that was still waiting when the run was stopped. */
function notRun(run: ToolRun, { call }: RequestedCall): ToolResult {
  const error = new PocketError('ABORTED', 'This call was not run: the run was stopped before it.');
  const result = errorToolResult(call, { error, settings: run.settings });
  emitCall(run, call);
  emitResult(run, result);
  run.audit?.({ ...newRecord(call), reason: error.message });
  return result;
}

function newRecord(call: ToolCall): CallRecord {
  return {
    call,
    decision: 'refused',
    by: 'policy',
    reason: 'the call ended before it was decided',
    capability: undefined,
    outcome: 'not run',
    durationMs: 0,
  };
}

function note(record: CallRecord, { decision, by, reason }: Pick<Verdict, 'decision' | 'by' | 'reason'>): void {
  record.decision = decision;
  record.by = by;
  record.reason = reason;
}

function emitCall(run: ToolRun, call: ToolCall): void {
  run.emit?.({ type: 'tool_call', data: { ...call, toolCallId: call.id, toolName: call.name } });
}

function emitResult(run: ToolRun, result: ToolResult): void {
  run.emit?.({ type: 'tool_result', data: { ...result, toolName: result.toolCallName } });
}

/** The result of a call that the hook denies. A call that the hook changes goes into the record. */
async function preToolCall({ run, request, record }: ActiveCall): Promise<ToolResult | undefined> {
  const { context, hooks, hookContext, settings } = run;
  const { call, malformed } = request;
  if (malformed) return undefined;
  const changed = await within(context.signal, hooks.preToolCall?.(hookContext, deepCopy(call)));
  if (!changed) return undefined;
  if (typeof changed === 'object' && 'deny' in changed) {
    note(record, { decision: 'denied', by: 'hook', reason: changed.deny });
    const error = new PocketError('TOOL_DENIED', `This call was denied: ${changed.deny}`);
    return errorToolResult(call, { error, settings });
  }
  checkChangedCall(call, changed);
  record.call = snapshot({ ...changed, id: call.id }); // the model knows the call by its id
  return undefined;
}

/** Throws for a call without a name, and for arguments that a tool or an audit file could not take. */
function checkChangedCall(call: ToolCall, { name, arguments: args }: ToolCall): void {
  if (typeof name !== 'string') {
    const advice = 'return a call with a name and arguments, { deny: reason } or nothing.';
    throw configError(`preToolCall returned an invalid call for "${call.name}": ${advice}`);
  }
  const text = `preToolCall returned invalid arguments for "${call.name}": they must be an object of JSON values`;
  if (!isRecord(args)) throw configError(`${text}.`);
  try {
    JSON.stringify(args);
  } catch (error) {
    throw configError(`${text}: ${errorText(error)}`, error);
  }
}

type Permission = { error?: undefined; entry: ToolEntry } | Failure;

/** Whether a call may be made: its tool exists, and neither policy nor approver nor budget refuses. */
async function permit(active: ActiveCall): Promise<Permission> {
  const { run, request, record } = active;
  const { policy, budget, pathKey, signal } = run.context;
  const { malformed } = request;
  const { name } = record.call;
  const table = run.knownTable() ?? (await abortable(run.collectTools(), signal));
  const entry = table.find(name);
  if (!entry) {
    note(record, { decision: 'refused', by: 'profile', reason: 'there is no such tool' });
    const names = run.table.entries.map((known) => known.name);
    const text = `There is no tool "${name}". ${describeAvailable(name, names)}`;
    return { entry, error: new PocketError('TOOL_UNKNOWN', text) };
  }
  const judged = judgedCall(entry.source, entry, record.call.arguments);
  record.capability = judged.capability;
  const refused = policy.checkRules(record.call, judged) ?? (malformed && unreadable(malformed));
  if (!refused && !policy.mayAsk) policy.rules.noteUnasked(judged);
  const verdict = refused ?? (policy.mayAsk ? await approval(active, { entry, judged }) : allowed(record.call));
  note(record, verdict);
  const { error } = verdict;
  // the schema of a tool that may not be called is not shown
  if (error) return { entry: error.code === 'TOOL_ARGUMENTS_INVALID' ? entry : undefined, error };
  record.call = verdict.call;
  budget.takeToolCall(pathKey, name);
  record.outcome = 'failed';
  return { entry };
}

function allowed(call: ToolCall): Verdict {
  return { decision: 'allowed', by: 'policy', call };
}

function unreadable(error: PocketError): Refused {
  return { decision: 'refused', by: 'policy', reason: 'its arguments could not be read', error };
}

interface CalledTool {
  entry: ToolEntry;
  /** The tool, or the choice that the call makes. */
  judged: JudgedTool;
}

async function approval({ run, record }: ActiveCall, { entry, judged }: CalledTool): Promise<Verdict> {
  const { policy, signal } = run.context;
  const { call } = record;
  note(record, { decision: 'denied', by: 'no-approver', reason: 'the run ended before the approval was answered' });
  const { source, tool, name: listedAs } = entry;
  const asked = judged === entry ? entry : { ...judged, source, tool, listedAs };
  const verdict = await policy.checkApproval(call, asked, signal);
  if (verdict.decision !== 'approved' && verdict.decision !== 'edited') return verdict;
  if (!(await isUnchanged(run, entry))) return denied(call, verdict.by, 'the tool changed while it was being approved');
  // an approver who changes the arguments may not choose what the rules refuse
  return policy.checkRules(call, judgedCall(source, entry, verdict.call.arguments)) ?? verdict;
}

/** A question takes time, in which a server may replace the tool that was approved. */
async function isUnchanged({ context, ...run }: ToolRun, entry: ToolEntry): Promise<boolean> {
  const table = run.knownTable() ?? (await abortable(run.collectTools(), context.signal));
  const now = table.find(entry.name);
  if (!now || now.source !== entry.source) return false;
  return JSON.stringify(now.tool) === JSON.stringify(entry.tool);
}

function callContext(run: ToolRun, call: ToolCall): ToolCallContext {
  const { signal, policy, metadata } = run.context;
  return {
    toolCallId: call.id,
    signal,
    caller: policy.caller,
    metadata,
    progress: (update) =>
      run.emit?.({ type: 'tool_progress', data: { toolCallId: call.id, toolName: call.name, ...update } }),
    meta: run.metaOf(call.id),
  };
}

type Outcome = Success | Failure;

interface Success {
  error?: undefined;
  answer: CallToolResult;
  /** Undefined if `onToolResult` makes it. */
  result: ToolResult | undefined;
  whole?: string | undefined;
  kept?: KeptResult | undefined;
}

interface Failure {
  error: Error;
  entry: ToolEntry | undefined;
  /** The error result of the tool itself. */
  result?: ToolResult;
  whole?: string | undefined;
  kept?: KeptResult | undefined;
}

/** Throws for an answer that cannot be read: that is a failure of the tool, not of the run. */
function readToolAnswer({ run, record }: ActiveCall, entry: ToolEntry, answer: CallToolResult): Outcome {
  const { call } = record;
  if (!answer.isError) {
    const read = run.hooks.onToolResult ? undefined : toToolResult(call, answer, run.settings);
    record.outcome = 'done';
    return { answer, result: read?.result, whole: read?.whole };
  }
  const text = resultText(answer);
  const code = looksLikeBadArguments(text) ? 'TOOL_ARGUMENTS_INVALID' : 'TOOL_FAILED';
  return { entry, error: new PocketError(code, text), ...toToolResult(call, answer, run.settings) };
}

async function keepWhole(run: ToolRun, call: ToolCall, outcome: Outcome): Promise<void> {
  if (outcome.whole === undefined) return;
  outcome.kept = await abortable(run.keepResult(call, outcome.whole), run.context.signal);
  if (outcome.kept) outcome.result?.toolResultContent.push({ type: 'text', text: outcome.kept.note });
}

/** What the model reads, after the hooks. */
async function resultOf(active: ActiveCall, outcome: Outcome): Promise<ToolResult> {
  const { run, record } = active;
  const { hooks, hookContext } = run;
  const { signal } = run.context;
  const { call } = record;
  let result: ToolResult;
  if (outcome.error) result = await failedResult(active, outcome);
  else if (outcome.result) result = outcome.result;
  else {
    const made = await within(signal, hooks.onToolResult?.(hookContext, call, outcome.answer));
    result = deepCopy(checkedResult(call, made));
  }
  if (record.decision === 'edited') result.toolResultContent.unshift(editedNote(call));
  const changed = await within(signal, hooks.postToolCall?.(hookContext, call, deepCopy(result)));
  if (!changed) return result;
  await outcome.kept?.discard();
  return deepCopy(checkedResult(call, changed));
}

function editedNote({ arguments: args }: ToolCall): { type: 'text'; text: string } {
  return { type: 'text', text: `[The approver changed the arguments of this call to ${JSON.stringify(args)}]` };
}

async function failedResult({ run, record, stop }: ActiveCall, failure: Failure): Promise<ToolResult> {
  const { settings } = run;
  const { call } = record;
  const { error, entry, result: ownResult } = failure;
  const decision = await within(run.context.signal, run.hooks.onToolError?.(run.hookContext, call, error));
  if (typeof decision === 'string') return errorToolResult(call, { error, message: decision, settings });
  if (decision === false) {
    const text = `Tool "${call.name}" failed and the run was stopped: ${errorText(error)}`;
    stop(new PocketError('TOOL_FAILED', text, { cause: error }));
  }
  const result = ownResult ?? errorToolResult(call, { error, settings });
  const isBadArguments = isPocketError(error, 'TOOL_ARGUMENTS_INVALID') || looksLikeBadArguments(errorText(error));
  const tool = entry && isBadArguments ? visibleTool(run, entry) : undefined;
  const schema = tool && JSON.stringify(tool.inputSchema);
  // schemas of servers may be huge, and the model has this one already
  if (schema !== undefined && Buffer.byteLength(schema) <= settings.maxToolResultBytes) {
    const text = `Call it again with arguments that fit this JSON Schema: ${schema}`;
    result.toolResultContent.push({ type: 'text', text });
  }
  return result;
}

/** Without the choices that the model may not see. */
function visibleTool({ context: { policy } }: ToolRun, entry: ToolEntry): Tool | undefined {
  return allowedTool(entry.source, entry, (tool) => policy.refusal(tool) === undefined);
}

/** How MCP servers in several languages word a complaint about arguments. */
function looksLikeBadArguments(text: string): boolean {
  return /validation error|invalid (arguments|params|parameters|input)|unexpected.?keyword|missing required|-32602/i.test(
    text,
  );
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}
