// An MCP server over HTTP: both protocol eras on one address, guarded against other people's web pages.
import { randomUUID, timingSafeEqual } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { toNodeHandler } from '@modelcontextprotocol/node';
import {
  type AuthInfo,
  createMcpHandler,
  hostHeaderValidationResponse,
  isLegacyRequest,
  localhostAllowedHostnames,
  localhostAllowedOrigins,
  type McpServerFactory,
  OAuthError,
  OAuthErrorCode,
  originValidationResponse,
  requireBearerAuth,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';

export interface HttpServerOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** Default /mcp. */
  path?: string;
  /** Clients must send it as a bearer token. */
  token?: string;
  /** Host names under which the server may be addressed. Default: those of this machine and `host`. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: those of this machine. */
  allowedOrigins?: readonly string[];
  /** A session of the 2025 era ends after this long without a request. Default 30 minutes. */
  sessionIdleMs?: number;
  onError?: (error: Error) => void;
}

export interface HttpServer {
  readonly url: string;
  /** Tells clients of the 2026 era that the list of tools has changed. */
  toolsChanged(): void;
  close(): Promise<void>;
}

export async function serveHttp(factory: McpServerFactory, options: HttpServerOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', sessionIdleMs = 1_800_000, onError } = options;
  const modern = createMcpHandler(factory, { legacy: 'reject', ...(onError ? { onerror: onError } : {}) });
  const sessions = new Sessions(factory, sessionIdleMs);
  const guard = makeGuard(host, options);
  const authorize = options.token === undefined ? undefined : bearerGate(options.token);

  const fetch = async (request: Request): Promise<Response> => {
    const refused = guard(request);
    if (refused) return refused;
    if (new URL(request.url).pathname !== path) return new Response('Not found', { status: 404 });
    const auth = await authorize?.(request);
    if (auth instanceof Response) return auth;
    const passed = auth ? { authInfo: auth } : {};
    return (await isLegacyRequest(request)) ? sessions.handle(request, passed) : modern.fetch(request, passed);
  };

  const server = createServer(toNodeHandler({ fetch }, onError ? { onerror: onError } : {}));
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });
  const address = server.address() as AddressInfo;
  const shown = host.includes(':') ? `[${host}]` : host;
  return {
    url: `http://${shown}:${address.port}${path}`,
    toolsChanged: () => modern.notify.toolsChanged(),
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([modern.close(), sessions.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

function makeGuard(host: string, options: HttpServerOptions): (request: Request) => Response | undefined {
  const hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), host])];
  const origins = [...(options.allowedOrigins ?? localhostAllowedOrigins())];
  return (request) => hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, origins);
}

function bearerGate(token: string): (request: Request) => Promise<AuthInfo | Response> {
  const expected = Buffer.from(token);
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(given) {
        const bytes = Buffer.from(given);
        if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) {
          throw new OAuthError(OAuthErrorCode.InvalidToken, 'This token is not the one of this server');
        }
        return { token: given, clientId: 'bearer', scopes: [], expiresAt: Math.floor(Date.now() / 1000) + 3600 };
      },
    },
  });
}

interface Session {
  transport: WebStandardStreamableHTTPServerTransport;
  lastUsed: number;
  requests: number;
}

/** The 2025 era keeps a session per client. */
class Sessions {
  readonly #factory: McpServerFactory;
  readonly #idleMs: number;
  readonly #sessions = new Map<string, Session>();
  readonly #sweeper: NodeJS.Timeout;

  constructor(factory: McpServerFactory, idleMs: number) {
    this.#factory = factory;
    this.#idleMs = idleMs;
    this.#sweeper = setInterval(() => this.#sweep(), Math.max(1_000, idleMs / 4)).unref();
  }

  async handle(request: Request, passed: { authInfo?: AuthInfo }): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && !known) return sessionNotFound();
    const session = known ?? (await this.#open(passed));
    session.lastUsed = Date.now();
    session.requests++;
    try {
      return await session.transport.handleRequest(request, passed);
    } finally {
      session.requests--;
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()));
  }

  async #open(passed: { authInfo?: AuthInfo }): Promise<Session> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const session: Session = { transport, lastUsed: Date.now(), requests: 0 };
    const server = await this.#factory({ era: 'legacy', ...passed });
    await server.connect(transport);
    const closed = transport.onclose;
    transport.onclose = () => {
      closed?.();
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
    };
    return session;
  }

  #sweep(): void {
    const oldest = Date.now() - this.#idleMs;
    for (const { transport, lastUsed, requests } of this.#sessions.values()) {
      if (requests === 0 && lastUsed < oldest) void transport.close();
    }
  }
}

function sessionNotFound(): Response {
  const error = { code: -32_001, message: 'Session not found' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}
