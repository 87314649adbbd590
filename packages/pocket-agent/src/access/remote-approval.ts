// Approvals across MCP and A2A: a served Pocket Agent asks its client, and a client that is a Pocket Agent passes the
// question on to its own approver, so that the person at the root is asked.
import type { ElicitRequest, ElicitResult, ToolAnnotations } from '@modelcontextprotocol/client';
import { isCapability } from './access.ts';
import { type ApprovalAnswer, type ApprovalRequest, NOBODY_TO_ASK } from './approval.ts';
import type { Policy } from './policy.ts';

/** The `_meta` key under which a question describes the call. */
export const APPROVAL_META_KEY = 'pocket-agent/approval';

type Described = Pick<ApprovalRequest, 'tool' | 'capability' | 'arguments' | 'path' | 'changed' | 'toolCallId'> & {
  description?: string;
  annotations?: ToolAnnotations;
};

/** The answer that is sent back. */
type RemoteAnswer = { approve: true } | Refusal;

interface Refusal {
  approve: false;
  reason: string;
  by?: 'nobody' | 'timeout';
}

/** The run that called the remote agent. */
interface AskingRun {
  readonly policy: Policy;
  readonly signal: AbortSignal;
}

export const notPassedOn: Refusal = {
  approve: false,
  reason: 'the calling agent does not pass approvals on; set approvals: true for this server',
  by: 'nobody',
};

export const nobody: Refusal = { approve: false, reason: NOBODY_TO_ASK, by: 'nobody' };

export function describeApproval({
  tool,
  capability,
  arguments: args,
  path,
  changed,
  toolCallId,
  description,
  annotations,
}: ApprovalRequest): Described {
  return {
    tool,
    capability,
    arguments: args,
    path,
    changed,
    toolCallId,
    ...(description ? { description } : {}),
    ...(annotations ? { annotations } : {}),
  };
}

/** The question in words; the hash ties the answer to this call. */
export function approvalText(request: ApprovalRequest): string {
  const { path, tool, capability, arguments: args, description, changed, hash } = request;
  return [
    `${path.join(' → ')} wants to call "${tool}" (${capability}).`,
    // third-party text: on one line, so that it cannot imitate the other lines
    ...(description ? [`It says of itself: ${cut(description.replace(/\s+/g, ' '), 500)}`] : []),
    ...(changed ? ['The definition of this tool has changed since it was first seen.'] : []),
    `Arguments: ${cut(JSON.stringify(args, null, 2), 2_000)}`,
    `Call ${hash.slice(0, 16)}`,
  ].join('\n');
}

/** Truncates text and says how much is missing, unless that would be longer than the text. */
function cut(text: string, most: number): string {
  const short = `${text.slice(0, most)}… (and ${text.length - most} more characters)`;
  return short.length < text.length ? short : text;
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
export function unasked(
  { _meta: meta }: ElicitRequest['params'],
  isPassedOn: boolean,
): { isApproval: boolean; result: ElicitResult } {
  if (meta?.[APPROVAL_META_KEY] === undefined) return { isApproval: false, result: { action: 'cancel' } };
  return { isApproval: true, result: { action: 'decline', content: { ...(isPassedOn ? nobody : notPassedOn) } } };
}

/** The warning for the operator of the calling agent. */
export function notPassedOnText(who: string): string {
  return `${who} wants a yes for a call and was refused it: set approvals: true for it, if it is an agent of yours.`;
}

/** A denial as it came back, with or without reason and `by`. */
export function remoteRefusal(said: unknown, otherwise: string): ApprovalAnswer {
  const { reason, by } = typeof said === 'object' && said !== null ? (said as Record<string, unknown>) : {};
  const deny = typeof reason === 'string' && reason ? reason : otherwise;
  return by === 'nobody' || by === 'timeout' ? { deny, by } : { deny };
}

/** `from` is our name for the agent that asks, `described` its own description of the call. */
export async function askRoot(
  described: unknown,
  from: string,
  run: AskingRun | undefined,
): Promise<RemoteAnswer | undefined> {
  const read = readApproval(described);
  if (!read || !run?.policy.approver) return undefined;
  // the remote agent appears under our name for it, whatever path it claims
  const path = [...run.policy.path, from, ...read.path];
  const about = { ...read, path, description: read.description, annotations: read.annotations };
  const decision = await run.policy.ask(about, run.signal);
  // arguments cannot be edited across a protocol: approving different ones denies these
  if (decision.allowed && !decision.edited) return { approve: true };
  if (decision.allowed) return { approve: false, reason: 'its arguments would have to be others' };
  const { reason, by } = decision;
  return { approve: false, reason, ...(by === 'approver' ? {} : { by }) };
}

function readApproval(value: unknown): Described | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const {
    tool,
    capability,
    arguments: args,
    path,
    changed,
    toolCallId,
    description,
    annotations,
  } = value as Record<string, unknown>;
  if (typeof tool !== 'string' || !isCapability(capability) || typeof args !== 'object' || args === null)
    return undefined;
  return {
    tool,
    capability,
    arguments: { ...args },
    path: Array.isArray(path) ? path.map(String) : [],
    changed: changed === true,
    toolCallId: String(toolCallId),
    ...(typeof description === 'string' ? { description } : {}),
    ...readAnnotations(annotations),
  };
}

function readAnnotations(value: unknown): Pick<Described, 'annotations'> {
  if (typeof value !== 'object' || value === null) return {};
  const isHint = ([name, said]: [string, unknown]) => /Hint$/.test(name) && typeof said === 'boolean';
  const isTitle = ([name, said]: [string, unknown]) => name === 'title' && typeof said === 'string';
  return { annotations: Object.fromEntries(Object.entries(value).filter((entry) => isHint(entry) || isTitle(entry))) };
}
