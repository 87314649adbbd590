// Sessions of the 2025 era over HTTP: one server object per client, until the client or we end it, or it is idle.

import { randomUUID } from 'node:crypto';
import {
  type AuthInfo,
  isInitializeRequest,
  isJSONRPCRequest,
  type McpServer,
  type McpServerFactory,
  type Server,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { MAX_TIMER_MS } from '@pocket-agent/kit';
import { observed } from './observed-response.ts';

interface HttpSessionsOptions {
  factory: McpServerFactory;
  idleMs: number;
  maxSessions: number;
  onError(error: Error): void;
}

export interface ParsedRequest {
  authInfo?: AuthInfo;
  /** The body of the request, if it was parsed already. */
  parsedBody?: unknown;
}

interface Session {
  server: McpServer | Server;
  transport: WebStandardStreamableHTTPServerTransport;
  /** The client that started it. Other clients cannot use it, even if they know its id. */
  clientId: string | undefined;
  lastUsed: number;
  /** Unfinished requests, including open event streams. */
  open: number;
}

const MIN_SWEEP_MS = 200;
const RETRY_AFTER_S = 5;
/** Clients and proxies in between wait for the headers of an answer. */
const OPEN_ANSWER_MS = 1_000;

const announcements = {
  tools: 'sendToolListChanged',
  prompts: 'sendPromptListChanged',
  resources: 'sendResourceListChanged',
} as const;

/** A list that a server may announce as changed. */
export type ServerList = keyof typeof announcements;

/** Tells the client of a server object that a list has changed. */
export async function announceChange(server: McpServer | Server, list: ServerList): Promise<void> {
  await server[announcements[list]]();
}

export class HttpSessions {
  readonly #options: HttpSessionsOptions;
  readonly #sessions = new Map<string, Session>();
  /** Number of sessions that are being started. */
  #starting = 0;
  readonly #sweeper: NodeJS.Timeout;

  constructor(options: HttpSessionsOptions) {
    this.#options = options;
    const sweepMs = Math.min(Math.max(MIN_SWEEP_MS, options.idleMs / 4), MAX_TIMER_MS);
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
  }

  async handle(request: Request, parsed: ParsedRequest): Promise<Response> {
    const id = request.headers.get('mcp-session-id');
    const known = id === null ? undefined : this.#sessions.get(id);
    if (id !== null && (!known || known.clientId !== parsed.authInfo?.clientId)) return sessionNotFound();
    if (known) return this.#pass(known, request, parsed);
    if (!beginsSession(parsed.parsedBody)) return this.#refuse(request, parsed);
    if (!this.#hasRoom(parsed.authInfo?.clientId)) return tooManySessions();
    this.#starting++;
    try {
      return await this.#pass(await this.#open(parsed.authInfo), request, parsed);
    } finally {
      this.#starting--;
    }
  }

  /** Notifies one client, or all. */
  listChanged(what: ServerList, toClient?: string): void {
    for (const { server, clientId } of this.#sessions.values()) {
      if (toClient !== undefined && clientId !== toClient) continue;
      announceChange(server, what).catch(this.#options.onError);
    }
  }

  async close(): Promise<void> {
    clearInterval(this.#sweeper);
    await Promise.all([...this.#sessions.values()].map(({ server }) => server.close()));
  }

  async #pass(session: Session, request: Request, parsed: ParsedRequest): Promise<Response> {
    session.open++;
    const onEnd = () => {
      session.open--;
      session.lastUsed = Date.now();
    };
    try {
      const response = await session.transport.handleRequest(request, parsed);
      // `initialize` was refused, so the client has no session id
      if (session.transport.sessionId === undefined) await session.server.close();
      const onDisconnect = () => cancelRequests(session, parsed.parsedBody);
      const openAfterMs = request.method === 'POST' ? OPEN_ANSWER_MS : 0;
      return observed(response, request.signal, { openAfterMs, onEnd, onDisconnect });
    } catch (error) {
      onEnd();
      throw error;
    }
  }

  /** Lets the SDK refuse the request: its transport accepts only `initialize` without a session. */
  #refuse(request: Request, parsed: ParsedRequest): Promise<Response> {
    const transport = new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
    transport.onerror = this.#options.onError;
    return transport.handleRequest(request, parsed);
  }

  /**
   * Ends a session if there is no room for another one. A client takes room only from clients with at least as many
   * sessions as itself, and first from the one with the most, so that a flood of sessions ends only its own. Idle
   * sessions end first; one in use ends only if its client has at least two more.
   */
  #hasRoom(clientId: string | undefined): boolean {
    if (this.#sessions.size + this.#starting < this.#options.maxSessions) return true;
    const held = this.#sessionsByClient();
    const own = held.get(clientId) ?? 0;
    const heldBy = ({ clientId: holder }: Session) => held.get(holder) ?? 0;
    const isIdle = ({ open }: Session) => open === 0;
    const [oldest] = [...this.#sessions]
      .filter(([, session]) => heldBy(session) >= (isIdle(session) ? own : own + 2))
      .sort(
        ([, left], [, right]) =>
          Number(isIdle(right)) - Number(isIdle(left)) ||
          heldBy(right) - heldBy(left) ||
          left.lastUsed - right.lastUsed,
      );
    if (!oldest) return false;
    const [id, { server }] = oldest;
    this.#sessions.delete(id);
    server.close().catch(this.#options.onError);
    return true;
  }

  #sessionsByClient(): Map<string | undefined, number> {
    const held = new Map<string | undefined, number>();
    for (const { clientId } of this.#sessions.values()) held.set(clientId, (held.get(clientId) ?? 0) + 1);
    return held;
  }

  async #open(authInfo: AuthInfo | undefined): Promise<Session> {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (id) => {
        this.#sessions.set(id, session);
      },
    });
    const server = await this.#options.factory({ era: 'legacy', ...(authInfo ? { authInfo } : {}) });
    const session: Session = { server, transport, clientId: authInfo?.clientId, lastUsed: Date.now(), open: 0 };
    await server.connect(transport);
    const { onclose, onerror } = transport;
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId);
      onclose?.();
    };
    transport.onerror = (error) => {
      onerror?.(error);
      this.#options.onError(error);
    };
    return session;
  }

  #sweep(): void {
    const oldest = Date.now() - this.#options.idleMs;
    for (const { server, lastUsed, open } of this.#sessions.values()) {
      if (open === 0 && lastUsed < oldest) server.close().catch(this.#options.onError);
    }
  }
}

/** `initialize`, alone or as the only message of a batch. */
function beginsSession(body: unknown): boolean {
  const [message, ...more] = Array.isArray(body) ? body : [body];
  return more.length === 0 && isInitializeRequest(message);
}

/**
 * Cancels requests whose client has closed the connection: these streams cannot be resumed, and some clients (the AI
 * SDK) cancel a call in no other way.
 */
function cancelRequests({ transport }: Session, body: unknown): void {
  const messages: unknown[] = Array.isArray(body) ? body : [body];
  for (const message of messages) {
    if (!isJSONRPCRequest(message)) continue;
    const params = { requestId: message.id, reason: 'The client closed the connection' };
    transport.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params });
  }
}

function sessionNotFound(): Response {
  const error = { code: -32_001, message: 'Session not found' };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 404 });
}

function tooManySessions(): Response {
  const error = { code: -32_000, message: 'Too many sessions; try again later' };
  const headers = { 'retry-after': String(RETRY_AFTER_S) };
  return Response.json({ jsonrpc: '2.0', error, id: null }, { status: 503, headers });
}
