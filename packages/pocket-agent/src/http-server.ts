// An MCP server over HTTP: both protocol eras on one address, guarded against other people's web pages.
import { timingSafeEqual } from 'node:crypto';
import { createServer, type Server as NodeServer } from 'node:http';
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
} from '@modelcontextprotocol/server';
import { type Profile, type ProfileName, readProfile } from './access.ts';
import { errorText, PocketError } from './errors.ts';
import { HttpSessions } from './http-sessions.ts';

export interface HttpServerOptions {
  /** Default 127.0.0.1: only this machine. */
  host?: string;
  /** Default 0: any free port, see `url`. */
  port?: number;
  /** Default /mcp. */
  path?: string;
  /** Clients must send it as a bearer token. */
  token?: string;
  /** Tokens of several clients, each with what its owner may do at most. */
  tokens?: Readonly<Record<string, ProfileName | Profile>>;
  /** Host names under which the server may be addressed. Default: those of this machine and `host`. */
  allowedHosts?: readonly string[];
  /** Host names of web pages that may call. Default: those of this machine. */
  allowedOrigins?: readonly string[];
  /** A session of the 2025 era ends after this long without a request. Default 30 minutes. */
  sessionIdleMs?: number;
  /** Sessions of the 2025 era at a time. One more ends the one idle longest, or is refused (503) when all are in use. Default 1,000. */
  maxSessions?: number;
  onError?: (error: Error) => void;
}

export interface HttpServer {
  readonly url: string;
  /** Tells clients of both eras that what the server offers has changed. */
  listChanged(what: 'tools' | 'prompts' | 'resources'): void;
  /** Ends every session and what runs in it, and stops listening. */
  close(): Promise<void>;
}

export async function serveHttp(factory: McpServerFactory, options: HttpServerOptions = {}): Promise<HttpServer> {
  const { host = '127.0.0.1', port = 0, path = '/mcp', onError = () => {} } = options;
  const { sessionIdleMs = 1_800_000, maxSessions = 1_000 } = options;
  const shownHost = host.includes(':') ? `[${host}]` : host;
  const guard = makeGuard(shownHost, options);
  const authorize = bearerGate(options);
  const modern = createMcpHandler(factory, { legacy: 'reject', onerror: onError });
  const sessions = new HttpSessions({ factory, idleMs: sessionIdleMs, maxSessions, onError });

  const fetch = async (request: Request): Promise<Response> => {
    const refused = guard(request);
    if (refused) return refused;
    if (new URL(request.url).pathname !== path) return new Response('Not found', { status: 404 });
    const auth = await authorize?.(request);
    if (auth instanceof Response) return auth;
    const passed = auth ? { authInfo: auth } : {};
    return (await isLegacyRequest(request)) ? sessions.handle(request, passed) : modern.fetch(request, passed);
  };

  const server = createServer(toNodeHandler({ fetch }, { onerror: onError }));
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
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      await Promise.all([modern.close(), sessions.close()]);
      server.closeAllConnections();
      await closed;
    },
  };
}

async function startListening(server: NodeServer, host: string, port: number): Promise<void> {
  const started = Promise.withResolvers<void>();
  server.once('error', started.reject);
  server.listen(port, host, started.resolve);
  try {
    await started.promise;
  } catch (error) {
    throw new PocketError('CONFIG_INVALID', `Cannot listen on ${host} port ${port}: ${errorText(error)}`, {
      cause: error,
    });
  }
  server.off('error', started.reject);
}

function makeGuard(host: string, options: HttpServerOptions): (request: Request) => Response | undefined {
  const hosts = [...(options.allowedHosts ?? [...localhostAllowedHostnames(), host])];
  const origins = [...(options.allowedOrigins ?? localhostAllowedOrigins())];
  return (request) => hostHeaderValidationResponse(request, hosts) ?? originValidationResponse(request, origins);
}

type Authorize = (request: Request) => Promise<AuthInfo | Response>;

/** Undefined when the server is open to everybody. */
function bearerGate({ token, tokens }: HttpServerOptions): Authorize | undefined {
  if (token === undefined && tokens === undefined) return undefined;
  const known = Object.entries(tokens ?? {}).map(([text, profile]) => ({ text, profile: readProfile(profile) }));
  const all: { text: string; profile?: Profile }[] = token === undefined ? known : [{ text: token }, ...known];
  if (all.some(({ text }) => text === '')) {
    throw new PocketError('CONFIG_INVALID', 'The "token" of the server is empty; set one or leave it out.');
  }
  return requireBearerAuth({
    verifier: {
      async verifyAccessToken(given) {
        const found = all.find(({ text }) => isSame(text, given));
        if (!found) throw new OAuthError(OAuthErrorCode.InvalidToken, 'This token is not the one of this server');
        const expiresAt = Math.floor(Date.now() / 1000) + 3600;
        const extra = found.profile ? { extra: { profile: found.profile } } : {};
        return { token: given, clientId: 'bearer', scopes: [], expiresAt, ...extra };
      },
    },
  });
}

/** Takes as long for a wrong token that begins rightly as for any other. */
function isSame(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.length === b.length && timingSafeEqual(a, b);
}
