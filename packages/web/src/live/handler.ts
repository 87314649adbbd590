// Shared by the handlers: identifies the caller, reads the request, and logs failures.
import { errorText } from '@pocket-agent/kit';
import type { PocketAgent } from 'pocket-agent';
import { callerOf, type WebCaller } from './caller.ts';
import { DEFAULT_MAX_BODY, type WebHandler, type WebOptions } from './options.ts';
import { errorResponse, readJson } from './responses.ts';

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
      return errorResponse(500, 'The request failed. The server log has the reason.');
    }
  };
}

/** Reads the JSON body of a request with `read`. Returns an error response if either fails. */
export async function readRequest<Parsed>(
  request: Request,
  { maxBodyBytes = DEFAULT_MAX_BODY }: WebOptions,
  read: (body: Record<string, unknown>) => Parsed,
): Promise<Parsed | Response> {
  const body = await readJson(request, maxBodyBytes);
  if (body instanceof Response) return body;
  try {
    return read(body);
  } catch (error) {
    return errorResponse(400, errorText(error));
  }
}
