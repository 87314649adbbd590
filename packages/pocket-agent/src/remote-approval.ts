// An approval that crosses a protocol: what one of our agents asks as a server, one of ours as a client puts to its own
// approver, so that the person at the root is asked whatever lies between.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { type Capability, isCapability } from './access.ts';
import { type ApprovalRequest, callHash } from './approval.ts';
import { approverOf } from './gate.ts';
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

/** The answer of the root, or undefined when the question is no approval, or nobody here can give one. */
export async function answerApproval(
  params: ElicitRequest['params'],
  frame: RunFrame | undefined,
): Promise<ElicitResult | undefined> {
  const described = readApproval(params._meta?.[APPROVAL_META_KEY]);
  const approve = frame && approverOf(frame);
  if (!described || !approve) return undefined;
  const answer = await approve({ ...request(described, frame), signal: frame.signal });
  if (answer === 'allow' || (typeof answer === 'object' && 'allow' in answer && answer.allow === true)) {
    return { action: 'accept', content: { approve: true } };
  }
  // arguments cannot be edited across a protocol: a yes to others is a no to these
  const reason = typeof answer === 'object' && 'deny' in answer ? answer.deny : 'it was not approved';
  return { action: 'accept', content: { approve: false, reason } };
}

function request(described: Described, frame: RunFrame): Omit<ApprovalRequest, 'signal'> {
  const path = [...frame.path, ...described.path];
  const hash = callHash(path, described.tool, described.arguments);
  return { ...described, path, hash, description: described.description, annotations: undefined };
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
    capability: capability as Capability,
    arguments: { ...args },
    path: Array.isArray(path) ? path.map(String) : [],
    changed: changed === true,
    toolCallId: String(toolCallId),
    ...(typeof description === 'string' ? { description } : {}),
  };
}
