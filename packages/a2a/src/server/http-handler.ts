// A2A over HTTP as a web-standard handler: checks host, origin and caller, then serves the card, JSON-RPC or REST.
import { ContentTypeNotSupportedError } from '@a2a-js/sdk/errors';
import { readBody } from '@pocket-agent/http/byte-chunks';
import { requestFault } from '@pocket-agent/http/json-weight';
import { requestGuard } from '@pocket-agent/http/mcp';
import { isRecord, PocketError } from '@pocket-agent/kit';
import { readProfile } from 'pocket-agent/internal';
import { bearerGate, hasSeveralCallers } from 'pocket-agent/internal/serve';
import type { A2aAccessOptions, A2aCaller, Call } from '../tasks/server-options.ts';
import { type AgentExtension, VERSION_HEADER } from '../wire/agent-card.ts';
import { REST_PATH, RPC_PATH } from './card.ts';
import { eventStream } from './event-stream.ts';
import { activeExtensions, extensionRefusal, withExtensions } from './extensions.ts';
import { type A2aProtocol, type RpcAnswer, restError, rpcError, versionRefusal } from './request-handler.ts';
import { restCall } from './rest.ts';
import { type CardOptions, ServedCards } from './served-cards.ts';

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

interface HandlerOptions extends A2aAccessOptions, CardOptions {
  extensions?: readonly AgentExtension[] | undefined;
  host: string;
  protocol: A2aProtocol;
  maxBodyBytes: number;
}

type Authenticate = (request: Request) => Promise<Pick<Call, 'caller' | 'isAuthenticated' | 'isOneOfMany'> | Response>;

export function makeHandler(options: HandlerOptions): (request: Request) => Promise<Response> {
  const { protocol, maxBodyBytes, url: base, host, allowedHosts, allowedOrigins, extensions = [] } = options;
  const ownHosts = base ? [host, new URL(base).hostname] : [host];
  const guard = requestGuard({ ownHosts, allowedHosts, allowedOrigins });
  const authenticate = makeAuthenticate(options);
  const prefix = base ? new URL(base).pathname.replace(/\/$/, '') : '';

  const cards = new ServedCards(options);

  const answer = async (body: Record<string, unknown>, call: Call) => {
    const refusal =
      versionRefusal(body.method, call.version) ?? extensionRefusal(body.method, call.extensions, extensions);
    if (refusal) return refusal;
    return isExtendedCard(body) ? extendedCard(cards, call) : protocol.handle(body, call);
  };

  const serve = async (request: Request, url: URL, at: { path: string; address: string }): Promise<Response> => {
    const { path, address } = at;
    const isRest = path.startsWith(`${REST_PATH}/`);
    if (!isRest && (path !== RPC_PATH || request.method !== 'POST')) return notFound();
    const identity = await authenticate(request);
    if (identity instanceof Response) return identity;
    const version = withoutPatch(request.headers.get(VERSION_HEADER) || versionIn(url) || '0.3');
    const traceparent = TRACEPARENT.exec(request.headers.get('traceparent') ?? '')?.[0];
    const active = activeExtensions(request.headers, extensions);
    const call: Call = {
      ...identity,
      address,
      extensions: active,
      tenant: '',
      version,
      traceparent,
      signal: request.signal,
    };
    return withExtensions(await respond(request, url, { call, path }), active, version);
  };

  const respond = async (
    request: Request,
    url: URL,
    { call, path }: { call: Call; path: string },
  ): Promise<Response> => {
    const isRest = path.startsWith(`${REST_PATH}/`);
    const parsed = await readJson(request, maxBodyBytes, isRest);
    if ('error' in parsed) return errorResponse(isRest, parsed.error, parsed.status);
    if (!isRest) return rpcResponse(await answer(parsed.body, call), parsed.body.id);
    const operation = restCall({
      verb: request.method,
      path: path.slice(REST_PATH.length),
      query: url.searchParams,
      body: parsed.body,
    });
    if (!operation) return notFound();
    const { method, params, status = 200 } = operation;
    return restResponse(await answer({ jsonrpc: '2.0', id: 1, method, params }, call), status);
  };

  return async (request) => {
    const refusal = guard(request);
    if (refusal) return refusal;
    const url = new URL(request.url);
    const path = routePath(url.pathname, prefix);
    const address = base?.replace(/\/$/, '') ?? url.origin;
    return (await cards.respond(request, path, address)) ?? serve(request, url, { path, address });
  };
}

/** The path without the prefix, which a proxy may have removed, and without the trailing slash that some clients add. */
function routePath(pathname: string, prefix: string): string {
  const path = pathname.startsWith(`${prefix}/`) ? pathname.slice(prefix.length) : pathname;
  return path.endsWith('/') ? path.slice(0, -1) : path;
}

function makeAuthenticate(options: HandlerOptions): Authenticate {
  const { authenticate, token, tokens } = options;
  if (authenticate && (token !== undefined || tokens !== undefined))
    throw new PocketError('CONFIG_INVALID', 'Give an A2A server either "authenticate", or "token" and "tokens".');
  if (authenticate) {
    return async (request) => {
      const caller = await authenticate(request);
      return caller ? { caller: withProfile(caller), isAuthenticated: true, isOneOfMany: true } : unauthorized();
    };
  }
  const gate = bearerGate(options);
  if (!gate) return async () => ({ caller: { id: 'anonymous' }, isAuthenticated: false, isOneOfMany: false });
  const isOneOfMany = hasSeveralCallers(options);
  return async (request) => {
    const auth = await gate(request);
    if (auth instanceof Response) return auth;
    const profile = auth.extra?.profile as A2aCaller['profile'];
    return { caller: { id: auth.clientId, ...(profile ? { profile } : {}) }, isAuthenticated: true, isOneOfMany };
  };
}

function withProfile({ id, profile }: A2aCaller): A2aCaller {
  return { id, ...(profile === undefined ? {} : { profile: readProfile(profile) }) };
}

/** Answered here, because the SDK would drop the fields of a card that it does not know, and with them its signatures. */
function isExtendedCard({ method }: Record<string, unknown>): boolean {
  return method === 'GetExtendedAgentCard' || method === 'agent/getAuthenticatedExtendedCard';
}

async function extendedCard(cards: ServedCards, call: Call): Promise<RpcAnswer> {
  try {
    return { result: await cards.extended(call, call.address) };
  } catch (error) {
    return { error: rpcError(error) };
  }
}

type Body = { body: Record<string, unknown> } | { error: NonNullable<RpcAnswer['error']>; status?: number };

async function readJson(request: Request, maxBytes: number, isRest: boolean): Promise<Body> {
  if (request.method === 'GET' || request.method === 'DELETE') return { body: {} };
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  const isJson = type === 'application/json' || (isRest && (type === 'application/a2a+json' || type === undefined));
  if (!isJson) return { error: rpcError(new ContentTypeNotSupportedError('The body must be application/json.')) };
  const bytes = await readBody(request, maxBytes);
  const fault = bytes ? requestFault(bytes) : `The body is larger than ${maxBytes} bytes`;
  if (!bytes || fault) return { error: { code: INVALID_REQUEST, message: `${fault}.` }, status: 413 };
  const text = bytes.toString();
  if (isRest && (text === '' || text === 'null')) return { body: {} };
  try {
    const body: unknown = JSON.parse(text);
    if (isRecord(body)) return { body };
    return { error: { code: INVALID_REQUEST, message: 'The body must be one JSON object.' } };
  } catch {
    return { error: { code: PARSE_ERROR, message: 'The body is not JSON.' } };
  }
}

async function rpcResponse(answer: RpcAnswer | AsyncGenerator<RpcAnswer>, id: unknown = null): Promise<Response> {
  const envelope = ({ result, error }: RpcAnswer) => ({ jsonrpc: '2.0', id, ...(error ? { error } : { result }) });
  if (!(Symbol.asyncIterator in answer)) return Response.json(envelope(answer));
  return eventStream(answer, envelope, (error) => Response.json(envelope({ error: rpcError(error) })));
}

async function restResponse(answer: RpcAnswer | AsyncGenerator<RpcAnswer>, status: number): Promise<Response> {
  const fail = (error: NonNullable<RpcAnswer['error']>) => errorResponse(true, error);
  if (Symbol.asyncIterator in answer)
    return eventStream(
      answer,
      ({ result }) => result,
      (error) => fail(rpcError(error)),
    );
  if (answer.error) return fail(answer.error);
  if (status === 204) return new Response(null, { status });
  return Response.json(answer.result, { status, headers: { 'content-type': 'application/a2a+json' } });
}

function errorResponse(isRest: boolean, error: NonNullable<RpcAnswer['error']>, status?: number): Response {
  if (!isRest) return Response.json({ jsonrpc: '2.0', id: null, error }, { status: status ?? 200 });
  const rest = restError(error);
  return Response.json(rest.body, {
    status: status ?? rest.status,
    headers: { 'content-type': 'application/a2a+json' },
  });
}

/** The version in the query string, which the specification allows as well. */
function versionIn({ searchParams }: URL): string | undefined {
  return [...searchParams].find(([name]) => name.toLowerCase() === VERSION_HEADER)?.[1];
}

/** The version without its patch number. */
function withoutPatch(version: string): string {
  return version.split('.').slice(0, 2).join('.');
}

function unauthorized(): Response {
  return Response.json({ error: 'unauthorized' }, { status: 401, headers: { 'www-authenticate': 'Bearer' } });
}

function notFound(): Response {
  return Response.json({ error: 'not found' }, { status: 404 });
}
