// Connects to the server of a configuration entry: chooses the transport, and logs in if the server wants it.
import {
  type AuthProvider,
  type ConnectOptions,
  createFetchWithInit,
  type FetchLike,
  type OAuthClientProvider,
  SdkHttpError,
  SseError,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import { abortable, delay, errorText, PocketError, refusalReason, withDeadline } from '@pocket-agent/kit';
import { connectChild } from './connect-child.ts';
import { authorizationOf, loginFetch } from './login/authorization.ts';
import type { OAuthLogin } from './login/oauth.ts';
import { checkUrl, expandVariables, type HttpEntry, type McpServerEntry } from './mcp-config.ts';
import { isUnreachable } from './retry-safety.ts';
import { type Connected, type ConnectRequest, connectClient, inTime } from './sdk-client.ts';
import { limitedFetch } from './transports/flood-limits.ts';
import { HttpTransport } from './transports/http-transport.ts';
import { inProcessTransport } from './transports/in-process.ts';
import { SseRequestError, SseTransport } from './transports/sse-transport.ts';

export const MAX_LOGINS = 3;
const FIRST_WAIT_MS = 50;
const MAX_WAIT_MS = 500;

/** Tries for `patienceMs` to reach a server where nothing listens. */
export async function connectTo(request: ConnectRequest, patienceMs: number): Promise<Connected> {
  const until = Date.now() + patienceMs;
  for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(waitMs * 2, MAX_WAIT_MS)) {
    try {
      return await connectOnce(request);
    } catch (error) {
      if (!isUnreachable(error) || Date.now() + waitMs > until) throw error;
      await delay(waitMs, request.signal);
    }
  }
}

async function connectOnce(request: ConnectRequest): Promise<Connected> {
  const { entry } = request;
  if ('server' in entry) {
    const prior = { kind: 'legacy' } as const;
    return inTime(request, async (bounded) =>
      connectClient(bounded, await inProcessTransport(entry.server), { prior }),
    );
  }
  if ('command' in entry) return inTime(request, (bounded) => connectChild(bounded, entry));
  return connectHttp(request, entry);
}

/** One connection pool for all servers. Their addresses come from the configuration, so private ones are allowed. */
const httpFetch = makeFetch({ guard: 'none', redirects: 'follow' });

async function connectHttp(request: ConnectRequest, entry: HttpEntry): Promise<Connected> {
  const url = serverUrl(request.name, entry, request.queryParams);
  const headers = Object.fromEntries(headersOf(request.name, entry, url));
  const login = loginOf(entry);
  const authProvider = login ? login.provider : (entry.auth as AuthProvider | OAuthClientProvider | undefined);
  await firstHeaders(request);
  const { fetch: given = httpFetch } = entry;
  const fetch = request.callerHeaders?.fetchFor(url, given) ?? given;
  const options = authProvider
    ? { requestInit: { headers: {} }, fetch: limitedFetch(fetchWithHeaders({ fetch, headers, url })), authProvider }
    : { requestInit: { headers }, fetch };
  const renewing = sharesTokens(authProvider)
    ? { fetch: authorizationOf(authProvider, login).fetchFor(url, options.fetch) }
    : {};
  try {
    const overSse = () =>
      withLogin({ request, login, make: () => new SseTransport(url, options), options: { prior: { kind: 'legacy' } } });
    if (entry.type === 'sse') return await overSse();
    try {
      return await withLogin({ request, login, make: () => new HttpTransport(url, { ...options, ...renewing }) });
    } catch (error) {
      if (entry.type !== undefined || !isOldServer(error)) throw error;
      return await overSse().catch((sseError) => {
        // SSE was only a guess: if the server does not support it either, the first error is reported
        throw sseError instanceof SseError && (sseError.code === 200 || isOldServer(sseError)) ? error : sseError;
      });
    }
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof PocketError) throw error;
    const where = `${url.origin}${url.pathname}`; // a query may hold a secret
    throw new PocketError(
      'MCP_CONNECT_FAILED',
      `Could not reach MCP server "${request.name}" at ${where}: ${httpReason(error, url).replaceAll(url.href, where)}`,
      { cause: error },
    );
  }
}

/** Calls a function for headers before the first request, so that its errors are reported as they are. */
async function firstHeaders({ name, callerHeaders, signal, timeoutMs }: ConnectRequest): Promise<void> {
  if (!callerHeaders) return;
  const what = `headers() of MCP server "${name}"`;
  await withDeadline({ what, signals: [signal], timeoutMs }, (bounded) => abortable(callerHeaders.current(), bounded));
}

interface ServerFetch {
  fetch: FetchLike;
  headers: Record<string, string>;
  url: URL;
}

/** For a server with a login: the headers of its entry go to the server only, not to its authorization server. */
function fetchWithHeaders({ fetch, headers, url }: ServerFetch): FetchLike {
  return loginFetch(url, createFetchWithInit(fetch, { headers }), fetch);
}

interface LoginAttempts {
  request: ConnectRequest;
  login: OAuthLogin | undefined;
  /** Makes a transport for each attempt. */
  make(): HttpTransport | SseTransport;
  options?: ConnectOptions;
}

/** Connects. When the server requires a login, takes a person through it and connects again. */
async function withLogin({ request, login, make, options = {} }: LoginAttempts): Promise<Connected> {
  for (let logins = 0; ; logins++) {
    const transport = make();
    try {
      return await inTime(request, (bounded) => connectClient(bounded, transport, options));
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      if (!login || logins >= MAX_LOGINS) throw authorizationNeeded(request.name, request.entry, error);
      request.onLogin?.();
      await finishLogin(login, transport, request.signal);
    }
  }
}

export function loginOf(entry: McpServerEntry): OAuthLogin | undefined {
  const auth = 'url' in entry && typeof entry.auth === 'object' ? entry.auth : undefined;
  return auth && 'waitForRedirect' in auth ? auth : undefined;
}

export async function finishLogin(
  login: OAuthLogin,
  transport: HttpTransport | SseTransport,
  signal: AbortSignal,
): Promise<void> {
  if (transport instanceof HttpTransport && sharesTokens(login.provider)) {
    return abortable(authorizationOf(login.provider, login).logIn(), signal);
  }
  const back = await abortable(login.waitForRedirect(), signal);
  await transport.finishAuth(back.searchParams);
}

// only the SDK can make the proofs for tokens that are bound to a key
function sharesTokens(provider: AuthProvider | OAuthClientProvider | undefined): provider is OAuthClientProvider {
  return provider !== undefined && 'tokens' in provider && !provider.dpop;
}

/** Without a provider the SDK reports only the status. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.data.status === 401);
}

export function authorizationNeeded(server: string, entry: McpServerEntry, cause: unknown): PocketError {
  const text = 'url' in entry ? refusalText(server, entry, cause) : 'requires a login.';
  return new PocketError('MCP_AUTHORIZATION_NEEDED', `MCP server "${server}" ${text}`, { cause });
}

/** The text depends on the credentials that were sent. */
function refusalText(server: string, entry: HttpEntry, cause: unknown): string {
  if (entry.auth) return 'refused the login that "auth" of its entry gave it.';
  if (typeof entry.headers === 'function') return 'refused the headers that "headers" of its entry returned.';
  const sent = headersOf(server, entry, serverUrl(server, entry)).get('authorization');
  if (!sent) return 'requires a login: set "auth" (see fileOAuth) or headers: { Authorization: … } in its entry.';
  const body = cause instanceof SdkHttpError ? String(cause.data.text) : '';
  return `refused the Authorization header of its entry.${refusalReason(body, sent)}`;
}

/** The headers of the entry. Credentials in the URL are removed from it and sent as a header. */
function headersOf(server: string, entry: HttpEntry, url: URL): Headers {
  const sent = new Headers(basicAuthorization(url));
  const fixed = typeof entry.headers === 'object' ? entry.headers : {};
  for (const [key, value] of Object.entries(fixed))
    sent.set(key, expandVariables(`MCP server "${server}"`, String(value)));
  return sent;
}

function serverUrl(name: string, entry: HttpEntry, queryParams: Record<string, string> = {}): URL {
  const text = expandVariables(`MCP server "${name}"`, entry.url);
  checkUrl(name, text, entry.url);
  const url = new URL(text);
  for (const [key, value] of Object.entries(queryParams)) url.searchParams.set(key, value);
  return url;
}

/** Removes credentials from the URL, which `fetch` refuses, and returns them as a header, as browsers do. */
function basicAuthorization(url: URL): Record<string, string> {
  if (!url.username && !url.password) return {};
  const user = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
  url.username = '';
  url.password = '';
  return { authorization: `Basic ${Buffer.from(user).toString('base64')}` };
}

function isOldServer(error: unknown): boolean {
  const status = statusOf(error);
  return status === 400 || status === 404 || status === 405 || status === 406;
}

/** The HTTP status of the answer, if there was one. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SseError) return error.code;
  const data = error instanceof Error && 'data' in error ? error.data : undefined;
  const status = typeof data === 'object' && data !== null && 'status' in data ? data.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

function httpReason(error: unknown, { pathname }: URL): string {
  if (error instanceof SseRequestError) return `it answered ${error.data.status} to a request: ${error.data.text}`;
  const status = statusOf(error);
  const text = errorText(error).replace(/^(Version negotiation (probe )?failed|Error POSTing to endpoint): /, '');
  if (status === undefined || (status !== 404 && text.includes(String(status)))) return text;
  if (status !== 404 && status !== 405) return `it answered ${status}: ${text}`;
  const usual = pathname === '/mcp' || error instanceof SseError ? '' : ' Most servers have it at /mcp.';
  // the body of a 404 is usually a page for people
  const said = status === 405 && text ? ` (${text})` : '';
  return `it answered ${status}${said}. Is "${pathname}" the path of its MCP endpoint?${usual}`;
}
