// What the handlers have in common: they answer a known caller, refuse what they cannot read, and log what fails.
import { errorText } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { callerOf, problem, type WebCaller } from './caller.ts';
import { DEFAULT_MAX_BODY, type WebHandler, type WebOptions } from './options.ts';
import { readJson } from './responses.ts';

export function webHandler(
  agent: PocketAgent<unknown>,
  options: WebOptions,
  answer: (request: Request, caller: WebCaller) => Promise<Response>,
): WebHandler {
  return async (request) => {
    try {
      const caller = await callerOf(request, options.authorize);
      return caller instanceof Response ? caller : await answer(request, caller);
    } catch (error) {
      agent.logger.error(`A request to ${agent.name} failed: ${errorText(error)}`);
      return problem(500, 'The request failed; the log of the server says why.');
    }
  };
}

/** What `read` makes of the JSON of a request, or the response that refuses it. */
export async function readRequest<Asked>(
  request: Request,
  { maxBodyBytes = DEFAULT_MAX_BODY }: WebOptions,
  read: (body: Record<string, unknown>) => Asked,
): Promise<Asked | Response> {
  const body = await readJson(request, maxBodyBytes);
  if (body instanceof Response) return body;
  try {
    return read(body);
  } catch (error) {
    return problem(400, errorText(error));
  }
}
