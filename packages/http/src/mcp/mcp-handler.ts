// An MCP server as a web-standard handler: both protocol eras on one URL, protected against foreign web pages.
import {
  type AuthInfo,
  createMcpHandler,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  isJsonContentType,
  isLegacyRequest,
  type McpServerFactory,
} from '@modelcontextprotocol/server';
import { readBody } from '../byte-chunks.ts';
import { requestFault } from '../json-weight.ts';
import { answerPreflight, withCorsHeaders } from './cross-origin.ts';
import { HttpSessions, type ServerList } from './mcp-sessions.ts';
import { type GuardOptions, requestGuard } from './request-guard.ts';
import { isSubscription, Subscriptions, type WatchResources } from './subscriptions.ts';

export interface McpHandlerOptions extends GuardOptions {
  /** The path of the MCP endpoint. Default: every path, because a framework has matched the path already. */
  path?: string;
  /** Returns the caller, or the response that refuses the request. Default: every request is accepted. */
  authorize?: Authorize;
  /** Serves other paths, without `authorize`; undefined if there is nothing at the path. */
  routes?: (request: Request) => Promise<Response | undefined> | Response | undefined;
  /** A session of the 2025 era ends after this time without a request. Default 30 minutes. */
  sessionIdleMs?: number;
  /**
   * Most sessions of the 2025 era at a time. A new one ends the session that was idle longest, or is refused (503) if
   * all are in use. A client with fewer sessions than another one is not refused: a session of the other one ends.
   * Default 1,000.
   */
  maxSessions?: number;
  /** Most bytes of a request; a longer one is refused (413). Default 4 MiB. */
  maxRequestBodySize?: number;
  /** Called when a client of the 2026 era subscribes to resources. Default: clients may watch all of them. */
  watchResources?: WatchResources;
  onError?: (error: Error) => void;
}

export type Authorize = (request: Request) => Promise<AuthInfo | Response>;

export interface McpHandler {
  fetch(request: Request): Promise<Response>;
  /** The answer to a request that is refused whatever its body is, before the body is read. */
  refusal(request: Request): Promise<Response | undefined>;
  /** Tells clients of both eras that a list has changed: all of them, or the one with this `clientId`. */
  listChanged(what: ServerList, clientId?: string): void;
  /**
   * Tells subscribed clients of the 2026 era: all of them, or the one with this `clientId`. Clients of the 2025 era
   * subscribe at their own server object.
   */
  resourceUpdated(uri: string, clientId?: string): void;
  /** Ends all sessions and their requests. */
  close(): Promise<void>;
}

export function mcpHandler(factory: McpServerFactory, options: McpHandlerOptions = {}): McpHandler {
  const { path, authorize, routes, onError = () => {} } = options;
  const { sessionIdleMs = 1_800_000, maxSessions = 1_000 } = options;
  const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE } = options;
  const guard = requestGuard(options);
  const modernOptions = { legacy: 'reject', maxRequestBodySize, onerror: onError } as const;
  const modern = createMcpHandler(factory, modernOptions);
  const subscriptions = new Subscriptions(() => createMcpHandler(factory, modernOptions), options.watchResources);
  const sessions = new HttpSessions({ factory, idleMs: sessionIdleMs, maxSessions, onError });

  const isElsewhere = ({ url }: Request) => path !== undefined && new URL(url).pathname !== path;
  const answer = async (request: Request): Promise<Response> => {
    if (isElsewhere(request)) return (await routes?.(request)) ?? new Response('Not found', { status: 404 });
    const auth = await authorize?.(request);
    if (auth instanceof Response) return auth;
    const body = await readJson(request, maxRequestBodySize);
    if (body instanceof Response) return body;
    const parsed = { ...(auth ? { authInfo: auth } : {}), ...body };
    const isLegacy = await isLegacyRequest(request, body.parsedBody);
    if (isLegacy) return sessions.handle(request, parsed);
    return isSubscription(parsed.parsedBody) ? subscriptions.serve(request, parsed) : modern.fetch(request, parsed);
  };
  return {
    fetch: async (request) =>
      guard(request) ?? answerPreflight(request) ?? withCorsHeaders(request, await answer(request)),
    async refusal(request) {
      const refused = guard(request);
      if (refused || isElsewhere(request)) return refused;
      const auth = await authorize?.(request);
      return auth instanceof Response ? withCorsHeaders(request, auth) : undefined;
    },
    listChanged(what, clientId) {
      subscriptions.publish(({ notify }) => notify[`${what}Changed`](), clientId);
      sessions.listChanged(what, clientId);
    },
    resourceUpdated(uri, clientId) {
      subscriptions.publish(({ notify }) => notify.resourceUpdated(uri), clientId);
    },
    async close() {
      await Promise.all([modern.close(), subscriptions.close(), sessions.close()]);
    },
  };
}

/** Parses the body once, for all handlers. */
async function readJson(request: Request, maxBytes: number): Promise<{ parsedBody?: unknown } | Response> {
  // other types are refused without reading the body
  if (request.method !== 'POST' || !isJsonContentType(request.headers.get('content-type'))) return {};
  try {
    const body = await readBody(request, maxBytes);
    if (!body) return refusal(413, { code: -32_000, message: tooLargeText(maxBytes) });
    const fault = requestFault(body);
    if (fault) return refusal(413, { code: -32_600, message: fault });
    return { parsedBody: JSON.parse(body.toString()) };
  } catch {
    return refusal(400, { code: -32_700, message: 'Parse error: the request body is not valid JSON' });
  }
}

export function tooLargeText(maxBytes: number): string {
  return `The request is larger than ${maxBytes} bytes, the maxRequestBodySize of this server`;
}

function refusal(status: number, error: { code: number; message: string }): Response {
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status });
}
