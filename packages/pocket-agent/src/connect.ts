// Opening a connection: the right transport for an entry, the protocol era the server speaks, a login where needed.
import { statSync } from 'node:fs';
import { basename } from 'node:path';
import {
  type AuthProvider,
  type ClientOptions,
  type ConnectOptions,
  isSpecType,
  type JSONRPCMessage,
  type OAuthClientProvider,
  SdkError,
  SdkErrorCode,
  SdkHttpError,
  SseError,
  type Transport,
  UnauthorizedError,
} from '@modelcontextprotocol/client';
import { makeFetch } from '@pocket-agent/http/fetch';
import { abortable, LONGEST_TIMER_MS, startDeadline } from './abort.ts';
import { authorizationOf } from './authorization.ts';
import type { CallingClient } from './calling-client.ts';
import { errorText, isPocketError, PocketError, refusalReason } from './errors.ts';
import { HttpTransport } from './http-transport.ts';
import { checkUrl, expandVariables, type HttpEntry, type McpServerEntry, type StdioEntry } from './mcp-config.ts';
import type { OAuthLogin } from './oauth.ts';
import { ChildTransport, inProcessTransport, OldSseTransport } from './transports.ts';

interface ConnectRequest {
  name: string;
  entry: McpServerEntry;
  queryParams: Record<string, string> | undefined;
  signal: AbortSignal;
  /** For the server; a person who logs in takes the time they need. */
  timeoutMs: number;
  /** For its answer to the question which era it speaks; without it as long as for everything. */
  probeMs?: number;
  makeClient(negotiation: NonNullable<ClientOptions['versionNegotiation']>): CallingClient;
}

export interface Connected {
  client: CallingClient;
  transport: Transport;
}

// A legacy server that ignores what it does not know would otherwise hold up the connection for the whole timeout.
const STDIO_PROBE_MS = 10_000;
/** At most this part of the timeout, so that there is time to go on. */
const STDIO_PROBE_PART = 1 / 3;
/** A child that took longer than this part of it is not started again for the sake of a newer era. */
const RESTART_PART = 1 / 2;
export const MOST_LOGINS = 3;

export async function connectTo(request: ConnectRequest): Promise<Connected> {
  const { entry } = request;
  if ('server' in entry) {
    const prior = { kind: 'legacy' } as const;
    return inTime(request, async (bounded) => attempt(bounded, await inProcessTransport(entry.server), { prior }));
  }
  if ('command' in entry) return inTime(request, (bounded) => connectChild(bounded, entry));
  return connectHttp(request, entry);
}

async function inTime(
  request: ConnectRequest,
  connect: (bounded: ConnectRequest) => Promise<Connected>,
): Promise<Connected> {
  const { name, signal, timeoutMs } = request;
  const deadline = startDeadline(`Connecting to MCP server "${name}"`, [signal], timeoutMs);
  try {
    return await connect({ ...request, signal: deadline.signal });
  } catch (error) {
    if (error !== deadline.signal.reason || !isPocketError(error, 'TIMEOUT')) throw error;
    const text = `${error.message} If it needs longer, raise "connectTimeoutMs" of its entry.`;
    throw new PocketError('TIMEOUT', text, { cause: error });
  } finally {
    deadline.release();
  }
}

async function connectChild(request: ConnectRequest, entry: StdioEntry): Promise<Connected> {
  const { name, timeoutMs } = request;
  const expand = (text: string) => expandVariables(name, text);
  const env = Object.fromEntries(Object.entries(entry.env ?? {}).map(([key, value]) => [key, expand(String(value))]));
  const command = {
    command: expand(entry.command),
    args: (entry.args ?? []).map((value) => expand(String(value))),
    env,
    cwd: entry.cwd === undefined ? undefined : expand(entry.cwd),
  };
  const begunAt = performance.now();
  let isConnected = false;
  let wasLate = false;
  const start = async (options: ConnectOptions, probeMs: number) => {
    const transport = new ChildTransport(command);
    transport.onmessage = (message) => {
      if (!isConnected) wasLate ||= isDiscovery(message);
    };
    try {
      const connected = await attempt({ ...request, probeMs }, transport, options);
      isConnected = true;
      return connected;
    } catch (error) {
      const { stderr, brokenOff } = transport;
      throw childError({ name, entry, ...command, stderr, timeoutMs }, brokenOff ?? error);
    }
  };
  try {
    const connected = await start({}, Math.min(STDIO_PROBE_MS, timeoutMs * STDIO_PROBE_PART));
    if (!wasLate || performance.now() - begunAt > timeoutMs * RESTART_PART) return connected;
    await connected.client.close();
  } catch (error) {
    // what the child said explains a timeout better than the timeout does
    if (request.signal.aborted || isMissingCommand(error)) throw error;
  }
  request.signal.throwIfAborted();
  isConnected = false;
  // One of 2026 that was taken for one of 2025, since it took long to start, is waited for this time. Some of 2025 end when
  // they are asked something before `initialize`.
  return wasLate ? start({}, timeoutMs) : start({ prior: { kind: 'legacy' } }, timeoutMs);
}

/** Answers in time are not shown to who listens while a connection is being made. */
function isDiscovery(message: JSONRPCMessage): boolean {
  return 'result' in message && typeof message.id === 'string' && isSpecType.DiscoverResult(message.result);
}

/** One pool for all servers. The addresses are the owner's own, so none is refused. */
const httpFetch = makeFetch({ guard: 'none', redirects: 'follow' });

async function connectHttp(request: ConnectRequest, entry: HttpEntry): Promise<Connected> {
  const url = serverUrl(request.name, entry, request.queryParams);
  const headers = Object.fromEntries(headersOf(request.name, entry, url));
  const login = loginOf(entry);
  const authProvider = login ? login.provider : (entry.auth as AuthProvider | OAuthClientProvider | undefined);
  const { fetch = httpFetch } = entry;
  const options = { requestInit: { headers }, fetch, ...(authProvider ? { authProvider } : {}) };
  const renewing = sharesTokens(authProvider)
    ? { fetch: authorizationOf(authProvider, login).fetchFor(url, fetch, options.requestInit) }
    : {};
  try {
    const overSse = () =>
      withLogin(request, login, () => new OldSseTransport(url, options), { prior: { kind: 'legacy' } });
    if (entry.type === 'sse') return await overSse();
    try {
      return await withLogin(request, login, () => new HttpTransport(url, { ...options, ...renewing }));
    } catch (error) {
      if (entry.type !== undefined || !isOldServer(error)) throw error;
      return await overSse().catch((ofSse) => {
        // nobody asked for SSE: a server that does not know it either is told of as it answered first
        throw ofSse instanceof SseError && (ofSse.code === 200 || isOldServer(ofSse)) ? error : ofSse;
      });
    }
  } catch (error) {
    request.signal.throwIfAborted();
    if (error instanceof PocketError) throw error;
    const where = `${url.origin}${url.pathname}`; // a query may hold a secret
    throw new PocketError(
      'MCP_CONNECT_FAILED',
      `Could not reach MCP server "${request.name}" at ${where}: ${httpReason(error, url).replaceAll(url.href, where)}`,
      {
        cause: error,
      },
    );
  }
}

/** Connects, and as often as the server asks for it takes a person through the login and connects again. */
async function withLogin(
  request: ConnectRequest,
  login: OAuthLogin | undefined,
  make: () => HttpTransport | OldSseTransport,
  options: ConnectOptions = {},
): Promise<Connected> {
  for (let logins = 0; ; logins++) {
    const transport = make();
    try {
      return await inTime(request, (bounded) => attempt(bounded, transport, options));
    } catch (error) {
      if (!isUnauthorized(error)) throw error;
      if (!login || logins >= MOST_LOGINS) throw authorizationNeeded(request.name, request.entry, error);
      await finishLogin(login, transport, request.signal);
    }
  }
}

export function loginOf(entry: McpServerEntry): OAuthLogin | undefined {
  return 'url' in entry && entry.auth && 'waitForRedirect' in entry.auth ? entry.auth : undefined;
}

export async function finishLogin(
  login: OAuthLogin,
  transport: HttpTransport | OldSseTransport,
  signal: AbortSignal,
): Promise<void> {
  if (transport instanceof HttpTransport && sharesTokens(login.provider)) {
    return abortable(authorizationOf(login.provider, login).logIn(), signal);
  }
  const back = await abortable(login.waitForRedirect(), signal);
  await transport.finishAuth(back.searchParams);
}

// tokens that are bound to a key need proofs, which only the SDK makes
function sharesTokens(provider: AuthProvider | OAuthClientProvider | undefined): provider is OAuthClientProvider {
  return provider !== undefined && 'tokens' in provider && !provider.dpop;
}

/** The SDK has an error of its own only where it was given a provider. */
export function isUnauthorized(error: unknown): boolean {
  return error instanceof UnauthorizedError || (error instanceof SdkHttpError && error.data.status === 401);
}

export function authorizationNeeded(server: string, entry: McpServerEntry, cause: unknown): PocketError {
  const text = 'url' in entry ? refusalText(server, entry, cause) : 'wants a login.';
  return new PocketError('MCP_AUTHORIZATION_NEEDED', `MCP server "${server}" ${text}`, { cause });
}

/** Told apart by what was sent. */
function refusalText(server: string, entry: HttpEntry, cause: unknown): string {
  if (entry.auth) return 'refused the login that "auth" of its entry gave it.';
  const sent = headersOf(server, entry, serverUrl(server, entry)).get('authorization');
  if (!sent) return 'wants a login: give its entry "auth" (see fileOAuth) or an Authorization header.';
  const body = cause instanceof SdkHttpError ? String(cause.data.text) : '';
  return `refused the Authorization header of its entry.${refusalReason(body, sent)}`;
}

/** The user in an address is taken out of it and sent as a header. */
function headersOf(server: string, entry: HttpEntry, url: URL): Headers {
  const sent = new Headers(basicAuthorization(url));
  for (const [key, value] of Object.entries(entry.headers ?? {})) sent.set(key, expandVariables(server, String(value)));
  return sent;
}

async function attempt(request: ConnectRequest, transport: Transport, options: ConnectOptions): Promise<Connected> {
  const { probeMs } = request;
  const client = request.makeClient({
    mode: 'auto',
    ...(probeMs === undefined ? {} : { probe: { timeoutMs: Math.min(probeMs, LONGEST_TIMER_MS) } }),
  });
  try {
    await abortable(
      client.connect(transport, {
        ...options,
        timeout: Math.min(request.timeoutMs, LONGEST_TIMER_MS),
        signal: request.signal,
      }),
      request.signal,
    );
    return { client, transport };
  } catch (error) {
    await transport.close().catch(() => {}); // the first error is the one that matters
    throw error;
  }
}

function serverUrl(name: string, entry: HttpEntry, queryParams: Record<string, string> = {}): URL {
  const text = expandVariables(name, entry.url);
  checkUrl(name, text, entry.url);
  const url = new URL(text);
  for (const [key, value] of Object.entries(queryParams)) url.searchParams.set(key, value);
  return url;
}

/** `fetch` refuses an address with a user in it, so the user is taken out and sent as every browser does. */
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

/** What the server answered, if it did. */
function statusOf(error: unknown): number | undefined {
  if (error instanceof SseError) return error.code;
  const data = error instanceof Error && 'data' in error ? error.data : undefined;
  const status = typeof data === 'object' && data !== null && 'status' in data ? data.status : undefined;
  return typeof status === 'number' ? status : undefined;
}

function httpReason(error: unknown, { pathname }: URL): string {
  const status = statusOf(error);
  const text = errorText(error).replace(/^(Version negotiation (probe )?failed|Error POSTing to endpoint): /, '');
  if (status === undefined || (status !== 404 && text.includes(String(status)))) return text;
  if (status !== 404 && status !== 405) return `it answered ${status}: ${text}`;
  const usual = pathname === '/mcp' || error instanceof SseError ? '' : ' Most servers have it at /mcp.';
  // who knows no such path says so in a page for people
  const said = status === 405 && text ? ` (${text})` : '';
  return `it answered ${status}${said}. Is "${pathname}" the path of its MCP endpoint?${usual}`;
}

function isMissingCommand(error: unknown): boolean {
  return error instanceof PocketError && isMissing(error.cause);
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

interface FailedChild {
  name: string;
  entry: StdioEntry;
  /** With its variables filled in. */
  command: string;
  cwd: string | undefined;
  stderr: string;
  timeoutMs: number;
}

function childError(child: FailedChild, error: unknown): PocketError {
  if (error instanceof PocketError && error.code !== 'MCP_CONNECT_FAILED' && error.code !== 'TIMEOUT') return error;
  const said = lastWords(child.stderr);
  return new PocketError(
    'MCP_CONNECT_FAILED',
    `Could not start MCP server "${child.name}" (${basename(child.command)}): ${childReason(child, error)}.${said && ` It said: ${said}`}`,
    { cause: error },
  );
}

function childReason({ entry, cwd, timeoutMs }: FailedChild, error: unknown): string {
  if (isPocketError(error, 'TIMEOUT')) {
    return `connecting did not end within ${timeoutMs} ms ("connectTimeoutMs" of its entry). It must answer with MCP messages on stdout; other text there is passed over`;
  }
  const isOver =
    isPocketError(error, 'MCP_CONNECT_FAILED') ||
    (error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed);
  if (isOver) {
    return 'it ended or closed its output before it answered as an MCP server. Run the command in a terminal to see why';
  }
  // Node says of a missing folder that the program is missing
  if (cwd && !statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    return `its "cwd" ${entry.cwd} is not a folder (${errorText(error)})`;
  }
  const [program = '', ...args] = entry.command.trim().split(/\s+/);
  if (isMissing(error) && args.length > 0) {
    const apart = `"command": ${JSON.stringify(program)}, "args": ${JSON.stringify(args)}`;
    return `there is no program of the name "${entry.command}" (ENOENT). What follows a program belongs in "args": ${apart}`;
  }
  return errorText(error);
}

/** Of what a child wrote to stderr: the line that names the error and what it adds to it, else the end. */
function lastWords(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim());
  const from = lines.findLastIndex((line) => /^(Uncaught )?[\w.]*(Error|Exception)\b[^:]*: /.test(line));
  if (from < 0) return lines.slice(-3).join(' / ').trim();
  // the stack, the fields of the error and the version of Node tell less
  const telling = lines.slice(from).filter((line) => !/^([\s{}]|Node\.js v)/.test(line));
  return telling.slice(0, 3).join(' / ').trim();
}
