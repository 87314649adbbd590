// An MCP server over HTTP: both protocol eras on one URL, protected against foreign web pages.
import { createServer, type Server as NodeServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  createMcpHandler,
  DEFAULT_MAX_REQUEST_BODY_SIZE,
  isJsonContentType,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServerFactory,
  validateHostHeader,
  validateOriginHeader,
} from '@modelcontextprotocol/server';
import { requestFault } from '../json-weight.ts';
import { answerPreflight, letOriginRead } from './cross-origin.ts';
import { HttpSessions } from './mcp-sessions.ts';
import { refuseUnreadable } from './unreadable.ts';

export interface McpHttpOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** Default /mcp. */
  path?: string;
  /** Returns the caller, or the response that refuses the request. Default: every request is accepted. */
  authorize?: Authorize;
  /** Serves other paths, without `authorize`; undefined if there is nothing at the path. */
  routes?: (request: Request) => Promise<Response | undefined> | Response | undefined;
  /** Accepted values of the Host header. Default: the names of this machine, and `host`. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: the names of this machine. */
  allowedOrigins?: readonly string[];
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
  onError?: (error: Error) => void;
}

export type Authorize = (request: Request) => Promise<AuthInfo | Response>;

export interface HttpServer {
  readonly url: string;
  /** Tells clients of both eras that a list has changed. */
  listChanged(what: 'tools' | 'prompts' | 'resources'): void;
  /** Tells subscribed clients of the 2026 era; those of the 2025 era have subscribed at their own server object. */
  resourceUpdated(uri: string): void;
  /** Ends all sessions and their requests, and stops listening. */
  close(): Promise<void>;
}

export async function serveHttp(factory: McpServerFactory, options: McpHttpOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', authorize, routes, onError = () => {} } = options;
  const { sessionIdleMs = 1_800_000, maxSessions = 1_000 } = options;
  const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE } = options;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const guard = makeGuard(shownHost, options);
  const modern = createMcpHandler(factory, { legacy: 'reject', maxRequestBodySize, onerror: onError });
  const sessions = new HttpSessions({ factory, idleMs: sessionIdleMs, maxSessions, onError });

  const answer = async (request: Request): Promise<Response> => {
    if (new URL(request.url).pathname !== path)
      return (await routes?.(request)) ?? new Response('Not found', { status: 404 });
    const auth = await authorize?.(request);
    if (auth instanceof Response) return auth;
    const body = await readJson(request);
    if (body instanceof Response) return body;
    const parsed = { ...(auth ? { authInfo: auth } : {}), ...body };
    const isLegacy = await isLegacyRequest(request, body.parsedBody);
    return isLegacy ? sessions.handle(request, parsed) : modern.fetch(request, parsed);
  };
  const fetch = async (request: Request): Promise<Response> =>
    guard(request) ?? answerPreflight(request) ?? letOriginRead(request, await answer(request));

  const handle = toNodeHandler({ fetch }, { onerror: onError, maxRequestBodySize });
  const server = createServer((request, response) => {
    if (refuseUnreadable(request, response)) return;
    if (Number(request.headers['content-length']) > maxRequestBodySize) refuseBody(response, maxRequestBodySize);
    else void handle(request, response);
  });
  try {
    await startListening(server, host, port);
  } catch (error) {
    await sessions.close();
    throw error;
  }
  server.on('error', onError);
  return {
    url: `http://${shownHost}:${(server.address() as AddressInfo).port}${path}`,
    listChanged(what) {
      modern.notify[`${what}Changed`]();
      sessions.listChanged(what);
    },
    resourceUpdated(uri) {
      modern.notify.resourceUpdated(uri);
    },
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([modern.close(), sessions.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Resolves when the server listens. Port 0 takes a free one. */
export async function startListening(server: NodeServer, host: string, port: number): Promise<void> {
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(
      `port must be a whole number from 0 to 65535, got ${typeof port === 'number' ? port : `${JSON.stringify(port)}, which is not a number`}.`,
    );
  const started = Promise.withResolvers<void>();
  server.once('error', started.reject);
  server.listen(port, host, started.resolve);
  try {
    await started.promise;
  } catch (error) {
    throw new Error(`Cannot listen on ${host} port ${port}: ${listenProblem(error)}`, { cause: error });
  }
  server.off('error', started.reject);
}

function listenProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('code' in error) || error.code !== 'EADDRINUSE') return error.message;
  return 'the port is in use (EADDRINUSE). Choose another port; 0 takes one that is free.';
}

/** Parses the body once, for all handlers. */
async function readJson(request: Request): Promise<{ parsedBody?: unknown } | Response> {
  // other types are refused without reading the body
  if (request.method !== 'POST' || !isJsonContentType(request.headers.get('content-type'))) return {};
  try {
    const body = Buffer.from(await request.arrayBuffer());
    const fault = requestFault(body);
    if (fault) return refusal(413, { code: -32_600, message: fault });
    return { parsedBody: JSON.parse(body.toString()) };
  } catch {
    return refusal(400, { code: -32_700, message: 'Parse error: the request body is not valid JSON' });
  }
}

function makeGuard(host: string, options: McpHttpOptions): (request: Request) => Response | undefined {
  const hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), host])];
  const origins = [...(options.allowedOrigins ?? localhostAllowedOrigins())];
  return ({ headers }) => {
    const asHost = validateHostHeader(headers.get('host'), hosts);
    if (!asHost.ok) return forbidden(asHost.message, 'allowedHosts');
    const asOrigin = validateOriginHeader(headers.get('origin'), origins);
    return asOrigin.ok ? undefined : forbidden(asOrigin.message, 'allowedOrigins');
  };
}

function forbidden(reason: string, option: string): Response {
  return refusal(403, { code: -32_000, message: `${reason} (not in ${option})` });
}

function refusal(status: number, error: { code: number; message: string }): Response {
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status });
}

/** Refuses a body before it is read. Its rest may still arrive, so the connection is closed. */
function refuseBody(response: ServerResponse, maxBytes: number): void {
  const message = `The request is larger than ${maxBytes} bytes, the maxRequestBodySize of this server`;
  response.writeHead(413, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', error: { code: -32_000, message }, id: null }));
}
