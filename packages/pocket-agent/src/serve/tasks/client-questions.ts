// The client of a server: its capabilities and profiles, and the questions that it is asked. An approval is an elicitation.
import {
  CLIENT_CAPABILITIES_META_KEY,
  type InputRequest,
  type Server,
  type ServerContext,
} from '@modelcontextprotocol/server';
import { isRecord } from '@pocket-agent/kit';
import type { ApprovalAnswer, ApprovalRequest, Remember } from '../../access/approval.ts';
import type { Profile, ProfileName } from '../../access/capabilities.ts';
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

/** The capabilities that the client of a request has declared. */
export function clientCapabilities(server: Server, { mcpReq: { envelope } }: ServerContext): Record<string, unknown> {
  const sent = (envelope as Record<string, unknown> | undefined)?.[CLIENT_CAPABILITIES_META_KEY];
  const declared = sent ?? server.getClientCapabilities();
  return isRecord(declared) ? declared : {};
}

/** The profiles that limit a client: that of its token, and that of the server. */
export function profilesFor(
  { http }: ServerContext,
  { profile }: { profile?: ProfileName | Profile },
): (ProfileName | Profile)[] {
  const tokenProfile = http?.authInfo?.extra?.profile as ProfileName | Profile | undefined;
  return [tokenProfile, profile].filter((each) => each !== undefined);
}

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

/** The decision in the answer of a client. */
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
    return undefined; // the call is denied with this reason
  }
}
