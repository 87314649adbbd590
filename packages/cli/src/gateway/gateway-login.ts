// `pocket-agent gateway login` and `logout`: a caller logs in at a server behind a gateway. The login page sends the browser
// back to this machine, so the login can only be finished here.
import { createServer, type Server } from 'node:http';
import { abortable, errorText, isRecord, PocketError, printable, printableJson } from '@pocket-agent/kit';
import { exitCodes } from '../command-line/exit-codes.ts';

export interface LoginRequest {
  /** Undefined: list the servers that want a login. */
  server: string | undefined;
  /** The address of the gateway, or of its MCP endpoint. */
  gateway: URL;
  token: string;
  json: boolean;
}

export async function loginCommand(request: LoginRequest, signal: AbortSignal): Promise<number> {
  const { server } = request;
  if (server === undefined) return list(request);
  const { url, redirectUrl } = await ask(request, {});
  if (typeof url !== 'string' || typeof redirectUrl !== 'string') return loggedIn(server);
  const redirect = await Redirect.listen(new URL(redirectUrl));
  try {
    process.stderr.write(`Open this page to log in to ${printable(server)}:\n`);
    process.stdout.write(`${printable(url)}\n`);
    const redirected = await abortable(redirect.arrived, signal);
    await ask(request, { redirected: redirected.href });
    return loggedIn(server);
  } finally {
    await redirect.close();
  }
}

export async function logoutCommand({ server = '', gateway, token }: LoginRequest): Promise<number> {
  await send(loginUrl(gateway, server), { method: 'DELETE', headers: headersFor(token) });
  process.stderr.write(`You are logged out of ${printable(server)}. Its tools are gone.\n`);
  return exitCodes.answered;
}

function loggedIn(server: string): number {
  process.stderr.write(`You are logged in to ${printable(server)}. Its tools are there now.\n`);
  return exitCodes.answered;
}

async function list({ gateway, token, json }: LoginRequest): Promise<number> {
  const { servers } = await send(new URL('/logins', gateway), { headers: headersFor(token) });
  const rows = Array.isArray(servers) ? servers.filter(isRecord) : [];
  for (const row of rows) {
    const line = `${printable(String(row.server))}  ${row.loggedIn ? 'logged in' : 'not logged in'}`;
    process.stdout.write(`${json ? printableJson(row) : line}\n`);
  }
  if (rows.length === 0) process.stderr.write('No server of this gateway wants a login of you.\n');
  return exitCodes.answered;
}

function ask({ server = '', gateway, token }: LoginRequest, body: object): Promise<Record<string, unknown>> {
  const headers = { ...headersFor(token), 'content-type': 'application/json' };
  return send(loginUrl(gateway, server), { method: 'POST', headers, body: JSON.stringify(body) });
}

function loginUrl(gateway: URL, server: string): URL {
  return new URL(`/logins/${encodeURIComponent(server)}`, gateway);
}

function headersFor(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

async function send(url: URL, init: RequestInit): Promise<Record<string, unknown>> {
  const response = await fetch(url, init).catch((error) => {
    const text = `The gateway at ${url.origin} cannot be reached: ${errorText(error)}`;
    throw new PocketError('MCP_CONNECT_FAILED', text, { cause: error });
  });
  const answer: unknown = await response.json().catch(() => ({}));
  if (response.ok && isRecord(answer)) return answer;
  const reason = isRecord(answer) && typeof answer.error === 'string' ? `: ${printable(answer.error)}` : '';
  throw new PocketError('MCP_REQUEST_FAILED', `The gateway answered ${response.status}${reason}`);
}

/** The address that the login page leads to. */
class Redirect {
  readonly arrived: Promise<URL>;
  readonly #server: Server;

  private constructor(server: Server, arrived: Promise<URL>) {
    this.#server = server;
    this.arrived = arrived;
  }

  static async listen(redirectUrl: URL): Promise<Redirect> {
    const { promise, resolve } = Promise.withResolvers<URL>();
    const server = createServer((request, response) => {
      const url = new URL(request.url ?? '/', redirectUrl.origin);
      const isBack = url.pathname === redirectUrl.pathname && url.searchParams.has('state');
      response.writeHead(isBack ? 200 : 404, { 'content-type': 'text/plain; charset=utf-8', connection: 'close' });
      response.end(isBack ? 'Thank you. You can close this page.' : 'Not found');
      if (isBack) resolve(url);
    });
    const { promise: ready, resolve: isReady, reject } = Promise.withResolvers<void>();
    server.once('error', reject);
    server.listen(Number(redirectUrl.port), redirectUrl.hostname, isReady);
    await ready.catch((error) => {
      const text = `The login page leads back to ${redirectUrl.origin}, where this command cannot listen: ${errorText(error)}`;
      throw new PocketError('CONFIG_INVALID', text, { cause: error });
    });
    return new Redirect(server, promise);
  }

  close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    return promise;
  }
}
