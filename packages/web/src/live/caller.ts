// The caller of a request. A request reads, continues, stops and answers only conversations of its caller.
import { isRecord, nonEmptyString } from '@pocket-agent/kit';
import type { Profile, ProfileName } from 'pocket-agent';
import { errorResponse } from './responses.ts';

/** The person or program behind a request. */
export interface WebCaller {
  /** The owner of the conversations, and `caller` of runs and audit records. */
  id: string;
  /** What the agent may do for this caller: a narrower profile than its own. */
  profile?: ProfileName | Profile;
  /** For tools and hooks, and for headers of MCP servers. Never sent to the model. */
  metadata?: Readonly<Record<string, unknown>>;
}

/** Returns the caller or its id, undefined or null to refuse the request, or a response such as a redirect to a login. */
export type Authorize = (request: Request) => AuthorizeResult | Promise<AuthorizeResult>;

type AuthorizeResult = WebCaller | string | Response | undefined | null;

/** Returns the caller, or an error response. */
export async function callerOf(request: Request, authorize: Authorize): Promise<WebCaller | Response> {
  const result = await authorize(request);
  if (result instanceof Response) return result;
  const caller = typeof result === 'string' ? { id: result } : result;
  if (isRecord(caller) && nonEmptyString(caller.id)) return caller;
  return errorResponse(401, 'Sign in first.');
}
