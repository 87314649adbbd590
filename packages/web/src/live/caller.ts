// The caller of a request. Only the caller decides which conversations a request may read, continue, stop and answer.
import { isRecord, nonEmptyString } from '@pocket-agent/kit';
import type { Profile, ProfileName } from 'pocket-agent';

/** The person or program behind a request. */
export interface WebCaller {
  /** The owner of the conversations, and `caller` of runs and audit records. */
  id: string;
  /** What the agent may do for this caller: a narrower profile than its own. */
  profile?: ProfileName | Profile;
  /** For tools and hooks, and for headers of MCP servers. Never sent to the model. */
  metadata?: Readonly<Record<string, unknown>>;
}

/** Returns the caller or its id; undefined or null to refuse the request; a response to answer it, such as a redirect to a login. */
export type Authorize = (request: Request) => Answer | Promise<Answer>;

type Answer = WebCaller | string | Response | undefined | null;

/** The caller, or the response that refuses the request. */
export async function callerOf(request: Request, authorize: Authorize): Promise<WebCaller | Response> {
  const answer = await authorize(request);
  if (answer instanceof Response) return answer;
  const caller = typeof answer === 'string' ? { id: answer } : answer;
  if (isRecord(caller) && nonEmptyString(caller.id)) return caller;
  return problem(401, 'Sign in first.');
}

export function problem(status: number, error: string): Response {
  return Response.json({ error }, { status, headers: { 'cache-control': 'no-store' } });
}
