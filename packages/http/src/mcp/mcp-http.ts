// An MCP server that listens for HTTP on Node.
import type { IncomingMessage, Server as NodeServer, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DEFAULT_MAX_REQUEST_BODY_SIZE, type McpServerFactory } from '@modelcontextprotocol/server';
import { configError } from '@pocket-agent/kit';
import { type McpHandler, type McpHandlerOptions, mcpHandler, tooLargeText } from './mcp-handler.ts';
import { refuseUnreadable } from './unreadable.ts';

export interface McpHttpOptions extends McpHandlerOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** Default /mcp. */
  path?: string;
  /** Most bytes of a request to another path. Default: `maxRequestBodySize`. */
  maxRouteBodySize?: number;
}

/** Where an MCP server is reached, and how it stops. */
export interface HttpServer extends Omit<McpHandler, 'fetch' | 'refusal'> {
  readonly url: string;
  /** Ends all sessions and their requests, and stops listening. */
  close(): Promise<void>;
}

export async function serveHttp(factory: McpServerFactory, options: McpHttpOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', onError = () => {} } = options;
  const { maxRequestBodySize = DEFAULT_MAX_REQUEST_BODY_SIZE, maxRouteBodySize = maxRequestBodySize } = options;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const { createServer, toNodeHandler } = await loadNodeServer();
  const handler = mcpHandler(factory, { ...options, path, ownHosts: [shownHost] });
  const handle = toNodeHandler(handler, { onerror: onError, maxRequestBodySize });
  const handleRoute = toNodeHandler(handler, { onerror: onError, maxRequestBodySize: maxRouteBodySize });
  const server = createServer((request, response) => {
    if (refuseUnreadable(request, response)) return;
    const { pathname } = addressOf(request);
    const maxBytes = pathname === path ? maxRequestBodySize : maxRouteBodySize;
    if (Number(request.headers['content-length']) > maxBytes) return refuseBody(response, maxBytes);
    if (pathname !== path) return void handleRoute(request, response);
    if (!options.authorize || isSmall(request)) return void handle(request, response);
    // a body is read into memory, so requests without a valid token are refused first
    handler
      .refusal(withoutBody(request))
      .then((refused) => (refused ? refuse(response, refused) : handle(request, response)))
      .catch((error) => {
        onError(error);
        response.destroy();
      });
  });
  try {
    await startListening(server, host, port);
  } catch (error) {
    await handler.close();
    throw error;
  }
  server.on('error', onError);
  return {
    url: `http://${shownHost}:${(server.address() as AddressInfo).port}${path}`,
    listChanged: handler.listChanged,
    resourceUpdated: handler.resourceUpdated,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await handler.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** Loaded here, because a server on stdio does not need these modules, which are slow to load. */
async function loadNodeServer() {
  const [{ createServer }, { toNodeHandler }] = await Promise.all([
    import('node:http'),
    import('@modelcontextprotocol/node'),
  ]);
  return { createServer, toNodeHandler };
}

/**
 * Longer than clients and load balancers keep idle connections (60 s), so that they close them. If the server does, a request
 * that is on its way fails.
 */
const KEEP_ALIVE_MS = 65_000;

/** Resolves when the server listens. Port 0 takes a free one. */
export async function startListening(server: NodeServer, host: string, port: number): Promise<void> {
  server.keepAliveTimeout = KEEP_ALIVE_MS;
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
    throw configError(`Cannot listen on ${host} port ${port}: ${listenProblem(error)}`, error);
  }
  server.off('error', started.reject);
}

function listenProblem(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('code' in error) || error.code !== 'EADDRINUSE') return error.message;
  return 'the port is in use (EADDRINUSE). Choose another port; 0 takes one that is free.';
}

/** Longer bodies, and those of unknown length, are read only after the caller is known. */
const SMALL_BYTES = 16_384;

function isSmall({ method, headers }: IncomingMessage): boolean {
  if (method !== 'POST') return true;
  return Number(headers['content-length'] ?? Number.POSITIVE_INFINITY) <= SMALL_BYTES;
}

function addressOf({ headers, url }: IncomingMessage): URL {
  return new URL(`http://${headers.host ?? 'localhost'}${url}`);
}

function withoutBody(request: IncomingMessage): Request {
  const headers = Object.entries(request.headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  );
  return new Request(addressOf(request), { method: request.method ?? 'POST', headers });
}

async function refuse(response: ServerResponse, refused: Response): Promise<void> {
  response.writeHead(refused.status, { ...Object.fromEntries(refused.headers), connection: 'close' });
  response.end(await refused.text());
}

/** Refuses a body before it is read. Its rest may still arrive, so the connection is closed. */
function refuseBody(response: ServerResponse, maxBytes: number): void {
  response.writeHead(413, { 'content-type': 'application/json', connection: 'close' });
  const error = { code: -32_000, message: tooLargeText(maxBytes) };
  response.end(JSON.stringify({ jsonrpc: '2.0', error, id: null }));
}
