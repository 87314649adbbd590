// Asks the client of a server to approve a call, by elicitation.
import type { InputRequest } from '@modelcontextprotocol/server';
import { CLIENT_CAPABILITIES_META_KEY, type Server, type ServerContext } from '@modelcontextprotocol/server';
import { errorText, isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest, Approve, Remember } from '../access/approval.ts';
import { APPROVAL_META_KEY, approvalText, describeApproval, remoteRefusal } from '../access/remote-approval.ts';
import type { CallOptions } from './suspended-calls.ts';

/** The model reads this much of a client's error. */
const MAX_REASON_LENGTH = 200;

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

/** An approver who asks the client of a call. A client that answers with an error has not approved. */
export function askedClient(ask: CallOptions['ask']): Approve {
  return async (request) => {
    const name = `approve_${request.hash.slice(0, 16)}`;
    try {
      return approvalIn(await ask(questionOf(request), { signal: request.signal, name }));
    } catch (error) {
      request.signal.throwIfAborted();
      const reason = errorText(error).slice(0, MAX_REASON_LENGTH);
      return { deny: `the client could not be asked for approval (${reason})`, by: 'no-approver' };
    }
  };
}

/** What the client of a request can be asked. */
export function clientCapabilities(server: Server, { mcpReq: { envelope } }: ServerContext): Record<string, unknown> {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.getClientCapabilities();
  return isRecord(declared) ? declared : {};
}

function questionOf(request: ApprovalRequest): InputRequest {
  return {
    method: 'elicitation/create',
    params: {
      message: approvalText(request),
      requestedSchema: answerSchema,
      _meta: { [APPROVAL_META_KEY]: describeApproval(request) },
    },
  };
}

function approvalIn(response: unknown): ApprovalAnswer {
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
