// An approval that crosses a protocol: what one of our agents asks as a server, one of ours as a client puts to its own
// approver, so that the person at the root is asked whatever lies between.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { isCapability } from './access.ts';
import { type ApprovalRequest, ask } from './approval.ts';
import { approvalTimeoutIn, approverOf } from './gate.ts';
import type { RunFrame } from './run-frame.ts';

/** Where a question says, beside its wording, what it is about. */
export const APPROVAL_META_KEY = 'pocket-agent/approval';

type Described = Pick<ApprovalRequest, 'tool' | 'capability' | 'arguments' | 'path' | 'changed' | 'toolCallId'> & {
  description?: string;
};

export function describeApproval({
  tool,
  capability,
  arguments: args,
  path,
  changed,
  toolCallId,
  description,
}: ApprovalRequest): Described {
  return { tool, capability, arguments: args, path, changed, toolCallId, ...(description ? { description } : {}) };
}

/** What a person must know to say yes; the hash ties the answer to this call. */
export function approvalText(request: ApprovalRequest): string {
  const { path, tool, capability, arguments: args, description, changed, hash } = request;
  return [
    `${path.join(' → ')} wants to call "${tool}" (${capability}).`,
    // whoever made the tool wrote this, so it must not look like the lines around it
    ...(description ? [`It says of itself: ${cut(description.replace(/\s+/g, ' '), 500)}`] : []),
    ...(changed ? ['The definition of this tool has changed since it was first seen.'] : []),
    `Arguments: ${cut(JSON.stringify(args, null, 2), 2_000)}`,
    `Call ${hash.slice(0, 16)}`,
  ].join('\n');
}

/** What is not shown is counted: nobody should say yes to it unawares. */
function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}… (and ${text.length - most} more characters)` : text;
}

/** The answer of the root, or undefined when the question is no approval, or nobody here can give one. */
export async function answerApproval(
  params: ElicitRequest['params'],
  server: string,
  frame: RunFrame | undefined,
): Promise<ElicitResult | undefined> {
  const answer = await askRoot(params._meta?.[APPROVAL_META_KEY], `MCP server ${server}`, frame);
  return answer && { action: 'accept', content: answer };
}

/** `from` is our name for whoever asks, `described` what it says the question is about. */
export async function askRoot(
  described: unknown,
  from: string,
  frame: RunFrame | undefined,
): Promise<{ approve: true } | { approve: false; reason: string } | undefined> {
  const read = readApproval(described);
  const approve = frame && approverOf(frame);
  if (!read || !approve) return undefined;
  // the name of whoever asks is ours, whatever path it claims
  const path = [...frame.path, from, ...read.path];
  const about = { ...read, path, description: read.description, annotations: undefined };
  const decision = await ask({ about, approve, signal: frame.signal, timeoutMs: approvalTimeoutIn(frame) });
  // arguments cannot be edited across a protocol: a yes to others is a no to these
  if (decision.allowed && !decision.edited) return { approve: true };
  return { approve: false, reason: decision.allowed ? 'its arguments would have to be others' : decision.reason };
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
  };
}
