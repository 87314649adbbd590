// Approvals across MCP and A2A: a served Pocket Agent asks its client, and a client that is a Pocket Agent passes the
// question on to its own approver, so that the person at the root is asked.
import type { ElicitRequest, ElicitResult, ToolAnnotations } from '@modelcontextprotocol/client';
import { isRecord, nonEmptyString, printable, printableText, truncate, withoutUndefined } from '@pocket-agent/kit';
import {
  type ApprovalAnswer,
  type ApprovalRequest,
  type CallToApprove,
  NO_APPROVER,
  type Unanswered,
} from './approval.ts';
import { isCapability } from './capabilities.ts';
import type { Policy } from './policy.ts';

/** The `_meta` key under which a question describes the call. */
export const APPROVAL_META_KEY = 'pocket-agent/approval';

/** The answer that is sent back. */
type RemoteAnswer = { approve: true } | Refusal;

interface Refusal {
  approve: false;
  reason: string;
  by?: Unanswered;
}

/** The run that called the remote agent. */
interface AskingRun {
  readonly policy: Policy;
  readonly signal: AbortSignal;
  readonly asking: ((isAsked: boolean) => void) | undefined;
}

export const notForwarded: Refusal = {
  approve: false,
  reason: 'the calling agent does not pass approvals on; set approvals: true for this server',
  by: 'no-approver',
};

export const noApprover: Refusal = { approve: false, reason: NO_APPROVER, by: 'no-approver' };

/** The call as JSON, for the side that is asked. */
export function describeApproval({
  hash: _hash,
  signal: _signal,
  canWait: _canWait,
  ...call
}: ApprovalRequest): Partial<CallToApprove> {
  return withoutUndefined(call);
}

/** The question in words; the hash ties the answer to this call. */
export function approvalText(request: ApprovalRequest): string {
  const { path, tool, capability, arguments: args, description, changed, hash } = request;
  return [
    // names and description come from third parties: each on one line, so that they cannot imitate the other lines
    `${printable(path.join(' → '), 500)} wants to call "${printable(tool, 200)}" (${capability}).`,
    ...(description ? [`Its description: ${printable(description, 500)}`] : []),
    ...(changed ? ['The definition of this tool has changed since it was first seen.'] : []),
    `Arguments: ${truncate(printableText(JSON.stringify(args, null, 2)), 2_000)}`,
    `Call ${hash.slice(0, 16)}`,
  ].join('\n');
}

/** The answer of the root approver; undefined if the question is not an approval or there is no approver. */
export async function answerApproval(
  params: ElicitRequest['params'],
  server: string,
  run: AskingRun | undefined,
): Promise<ElicitResult | undefined> {
  const answer = await askRoot(params._meta?.[APPROVAL_META_KEY], `MCP server ${server}`, run);
  return answer && { action: 'accept', content: { ...answer } };
}

/** The result for an unanswered question: approvals are declined with a reason, other questions are cancelled. */
export function unanswered(
  { _meta: meta }: ElicitRequest['params'],
  isForwarded: boolean,
): { isApproval: boolean; result: ElicitResult } {
  if (meta?.[APPROVAL_META_KEY] === undefined) return { isApproval: false, result: { action: 'cancel' } };
  return { isApproval: true, result: { action: 'decline', content: { ...(isForwarded ? noApprover : notForwarded) } } };
}

/** The warning for the operator of the calling agent. */
export function notForwardedText(who: string): string {
  return `${who} asked for the approval of a call, which was declined. To pass such questions on, set approvals: true for it.`;
}

/** The denial in an answer, which may lack a reason and `by`. */
export function remoteRefusal(answer: unknown, defaultReason: string): Exclude<ApprovalAnswer, 'later'> {
  const { reason, by } = isRecord(answer) ? answer : {};
  const deny = nonEmptyString(reason) ?? defaultReason;
  return by === 'no-approver' || by === 'timeout' ? { deny, by } : { deny };
}

/** `from`: our name for the agent that asks. `described`: its description of the call. */
export async function askRoot(
  described: unknown,
  from: string,
  run: AskingRun | undefined,
): Promise<RemoteAnswer | undefined> {
  const call = readCall(described);
  if (!call || !run?.policy.approver) return undefined;
  // the remote agent appears under our name for it, whatever path it claims
  const path = [...run.policy.path, from, ...call.path];
  run.asking?.(true);
  const decision = await run.policy.ask({ ...call, path }, run.signal).finally(() => run.asking?.(false));
  // arguments cannot be edited across a protocol: approving different ones denies these
  if (decision.allowed && decision.edited) return { approve: false, reason: 'the approver wants different arguments' };
  if (decision.allowed) return { approve: true };
  const { reason, by } = decision;
  return { approve: false, reason, ...(by === 'approver' ? {} : { by }) };
}

function readCall(value: unknown): CallToApprove | undefined {
  if (!isRecord(value)) return undefined;
  const { tool, capability, arguments: args, path, changed, toolCallId, description, annotations } = value;
  if (typeof tool !== 'string' || !isCapability(capability) || typeof args !== 'object' || args === null)
    return undefined;
  return {
    tool,
    capability,
    arguments: { ...args },
    path: Array.isArray(path) ? path.map(String) : [],
    changed: changed === true,
    toolCallId: String(toolCallId),
    description: typeof description === 'string' ? description : undefined,
    annotations: isRecord(annotations) ? readAnnotations(annotations) : undefined,
  };
}

function readAnnotations(annotations: Record<string, unknown>): ToolAnnotations {
  const isKnown = ([name, value]: [string, unknown]) =>
    name === 'title' ? typeof value === 'string' : /Hint$/.test(name) && typeof value === 'boolean';
  return Object.fromEntries(Object.entries(annotations).filter(isKnown));
}
