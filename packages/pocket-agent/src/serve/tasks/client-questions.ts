// What the client of a server is asked, and what it can be asked: an approval is an elicitation.
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequest,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest, Remember } from '../../access/approval.ts';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from '../../access/remote-approval.ts';

const answerSchema = {
  type: 'object' as const,
  properties: {
    approve: { type: 'boolean' as const, title: 'Allow this call' },
    reason: { type: 'string' as const, title: 'Why not' },
    remember: {
      type: 'string' as const,
      title: 'Also allow later: the same call, or any call of this tool',
      enum: ['call', 'conversation'] satisfies Remember[],
    },
    arguments: { type: 'string' as const, title: 'Call it with these arguments instead (a JSON object)' },
  },
  required: ['approve'],
};

/** What the client of a request can be asked. */
export function clientCapabilities(server: Server, { mcpReq: { envelope } }: ServerContext): Record<string, unknown> {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.getClientCapabilities();
  return isRecord(declared) ? declared : {};
}

/** The question as an elicitation. */
export function approvalQuestion(request: ApprovalRequest): InputRequest {
  return {
    method: 'elicitation/create',
    params: {
      message: approvalText(request),
      requestedSchema: answerSchema,
      _meta: { [APPROVAL_META_KEY]: describeApproval(request) },
    },
  };
}

/** What a client has answered to it. */
export function approvalIn(response: unknown): ApprovalAnswer {
  const { action, content } = isRecord(response) ? response : {};
  if (action !== 'accept' || !isRecord(content) || content.approve !== true)
    return remoteRefusal(content, 'the client declined');
  const { remember, arguments: changed } = content;
  const isRemembered = remember === 'call' || remember === 'conversation';
  const args = typeof changed === 'string' && changed.trim() !== '' ? readArguments(changed) : true;
  if (args === undefined) return { deny: 'the changed arguments are not a JSON object' };
  return { allow: args, ...(isRemembered ? { remember } : {}) };
}

function readArguments(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined; // the approver is told
  }
}
