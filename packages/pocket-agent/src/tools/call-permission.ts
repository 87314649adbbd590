// May a call be made? The hook preToolCall, then policy, approval and budget.
import {
  abortable,
  configError,
  deepCopy,
  describeAvailable,
  errorText,
  isRecord,
  PocketError,
  snapshot,
  within,
} from '@pocket-agent/kit';
import type { JudgedTool } from '../access/capabilities.ts';
import { type CallVerdict, denied, type Refused } from '../access/verdict.ts';
import type { ToolCall, ToolResult } from '../base/tool-call.ts';
import { bothAsking, whileAsking } from '../run/run-context.ts';
import { type ActiveCall, maySuspend, noteVerdict, type StepCalls } from './step-calls.ts';
import { errorToolResult } from './tool-result.ts';
import { judgedCall } from './tool-source.ts';
import type { ToolEntry } from './tool-table.ts';

/** Returns the result of a call that the hook denies. A call that the hook changes replaces the one in the record. */
export async function preToolCall({ step, request, record }: ActiveCall): Promise<ToolResult | undefined> {
  const { context, hooks, hookContext, settings } = step;
  const { call, malformed } = request;
  if (malformed) return undefined;
  const changed = await within(context.signal, hooks.preToolCall?.(hookContext, deepCopy(call)));
  if (!changed) return undefined;
  if (typeof changed === 'object' && 'deny' in changed) {
    noteVerdict(record, { decision: 'denied', by: 'hook', reason: changed.deny });
    const error = new PocketError('TOOL_DENIED', `This call was denied: ${changed.deny}`);
    return errorToolResult(call, { error, settings });
  }
  checkChangedCall(call, changed);
  record.call = snapshot({ ...changed, id: call.id }); // the model knows the call by its id
  return undefined;
}

/** Throws for a call without a name, and for arguments that are not JSON. */
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

type Permission = { error?: undefined; entry: ToolEntry } | { error: PocketError; entry: ToolEntry | undefined };

/** Whether a call may be made: its tool exists, and neither policy nor approver nor budget refuses. */
export async function permit(active: ActiveCall): Promise<Permission> {
  const { step, request, record } = active;
  const { policy, budget, pathKey, signal } = step.context;
  const { malformed } = request;
  const { name } = record.call;
  const table = step.knownTable() ?? (await abortable(step.collectTools(), signal));
  const entry = isOutOfReach(active) ? undefined : table.find(name);
  if (!entry) {
    noteVerdict(record, { decision: 'refused', by: 'profile', reason: 'there is no such tool' });
    const names = step.table.entries.map((known) => known.name);
    let text = `There is no tool "${name}". ${describeAvailable(name, names)}`;
    if (request.from?.names.includes(name)) text = `"${name}" cannot call itself.`;
    else if (!request.from && step.reach?.table.find(name)) text = `"${name}" cannot be called directly, only by code.`;
    return { entry, error: new PocketError('TOOL_UNKNOWN', text) };
  }
  const judged = judgedCall(entry.source, entry, record.call.arguments);
  record.capability = judged.capability;
  const refused = policy.checkRules(record.call, judged) ?? (malformed && unreadable(malformed));
  if (!refused && !policy.mayAsk) policy.warnOfMissingConfirm(judged);
  const verdict = refused ?? (policy.mayAsk ? await askApproval(active, { entry, judged }) : allowed(record.call));
  noteVerdict(record, verdict);
  const { error } = verdict;
  // the schema of a tool that may not be called is not shown
  if (error) return { entry: error.code === 'TOOL_ARGUMENTS_INVALID' ? entry : undefined, error };
  record.call = verdict.call;
  budget.takeToolCall(pathKey, name);
  record.outcome = 'failed';
  return { entry };
}

/** A hook may choose a hidden tool. No tool calls itself, and only the model calls tools of its provider. */
function isOutOfReach({ step, request: { call, from }, record }: ActiveCall): boolean {
  const { name } = record.call;
  if (name === call.name && step.hidden.has(name)) return true;
  if (!from) return false;
  const entry = step.table.find(name);
  return from.names.includes(name) || entry?.source.providerTool?.(entry.tool) !== undefined;
}

function allowed(call: ToolCall): CallVerdict {
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

async function askApproval({ step, request, record }: ActiveCall, { entry, judged }: CalledTool): Promise<CallVerdict> {
  const { policy, signal } = step.context;
  const { call } = record;
  noteVerdict(record, {
    decision: 'denied',
    by: 'no-approver',
    reason: 'the run ended before the approval was answered',
  });
  const { source, tool, name: listedAs } = entry;
  const asked = judged === entry ? entry : { ...judged, source, tool, listedAs };
  const canWait = maySuspend({ step, request });
  const asking = bothAsking(request.from?.asking, step.context.asking);
  const verdict = await whileAsking(asking, () => policy.checkApproval(call, asked, { signal, canWait }));
  if (verdict.decision !== 'approved' && verdict.decision !== 'edited') return verdict;
  if (!(await isUnchanged(step, entry)))
    return denied(call, verdict.by, 'the tool changed while it was being approved');
  // an approver who changes the arguments may not choose what the rules refuse
  return policy.checkRules(call, judgedCall(source, entry, verdict.call.arguments)) ?? verdict;
}

/** The server may have replaced the tool while a person was asked. */
async function isUnchanged(step: StepCalls, entry: ToolEntry): Promise<boolean> {
  const table = step.knownTable() ?? (await abortable(step.collectTools(), step.context.signal));
  const now = table.find(entry.name);
  if (!now || now.source !== entry.source) return false;
  return JSON.stringify(now.tool) === JSON.stringify(entry.tool);
}
