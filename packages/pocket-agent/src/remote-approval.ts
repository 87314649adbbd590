// An approval that crosses a protocol: what one of our agents asks as a server, one of ours as a client puts to its own
// approver, so that the person at the root is asked whatever lies between.
import type { ElicitRequest, ElicitResult } from '@modelcontextprotocol/client';
import { type Capability, isCapability } from './access.ts';
import { type ApprovalRequest, callHash, readAnswer } from './approval.ts';
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
  server: string,
  frame: RunFrame | undefined,
): Promise<ElicitResult | undefined> {
  const described = readApproval(params._meta?.[APPROVAL_META_KEY]);
  const approve = frame && approverOf(frame);
  if (!described || !approve) return undefined;
  const asked = { ...request(described, server, frame), signal: frame.signal };
  const decision = readAnswer(await approve(asked), asked.hash, described.arguments);
  // arguments cannot be edited across a protocol: a yes to others is a no to these
  if (decision.allowed && !decision.edited) return { action: 'accept', content: { approve: true } };
  const reason = decision.allowed ? 'its arguments would have to be others' : decision.reason;
  return { action: 'accept', content: { approve: false, reason } };
}

function request(described: Described, server: string, frame: RunFrame): Omit<ApprovalRequest, 'signal'> {
  // the name of the server is ours, whatever path it claims
  const path = [...frame.path, `MCP server ${server}`, ...described.path];
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
