// The HTTP server of the fake: reads and authenticates requests, calls handlers, applies faults.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { setTimeout as wait } from 'node:timers/promises';
import { ApiError, sessionExpired } from '../world/api-error.ts';
import type { User } from '../world/model.ts';
import type { World } from '../world/world.ts';
import { Call, checkParams, noSuchRoute, type Reply } from './call.ts';
import { type Fault, Faults, faultReply } from './faults.ts';
import type { RateLimit } from './rate-limit.ts';
import type { RouteTable } from './routes.ts';

/** A recorded request; instead of the token it has the username. */
export interface RecordedRequest {
  method: string;
  path: string;
  query: Record<string, string>;
  headers: Record<string, string>;
  /** Username of the token; undefined without a valid token. */
  user: string | undefined;
  /** Parsed if it is valid JSON with the JSON content type. */
  json: unknown;
  bytes: number;
  sha256: string;
  /** Set when the response is sent. */
  status: number | undefined;
}

const anonymous: User = {
  id: '',
  create_at: 0,
  update_at: 0,
  delete_at: 0,
  username: '',
  first_name: '',
  last_name: '',
  nickname: '',
  position: '',
  email: '',
  email_verified: false,
  auth_service: '',
  roles: '',
  locale: 'en',
};

export class HttpCore {
  readonly requests: RecordedRequest[] = [];
  /** "METHOD /path" of requests without a route, which the real server may implement. */
  readonly unanswered: string[] = [];
  readonly faults = new Faults();
  inFlight = 0;
  maxInFlight = 0;
  readonly #world: World;
  readonly #routes: RouteTable;
  readonly #rateLimit: RateLimit | undefined;
  readonly #closing = new AbortController();

  constructor(world: World, routes: RouteTable, rateLimit?: RateLimit) {
    this.#world = world;
    this.#routes = routes;
    this.#rateLimit = rateLimit;
  }

  close(): void {
    this.#closing.abort();
  }

  readonly listener = (request: IncomingMessage, response: ServerResponse): void => {
    this.inFlight += 1;
    this.maxInFlight = Math.max(this.maxInFlight, this.inFlight);
    response.once('close', () => {
      this.inFlight -= 1;
    });
    // disconnected clients and the shutdown of the fake are not errors
    this.#answer(request, response).catch(() => response.destroy());
  };

  userOf(authorization: string | undefined): User | undefined {
    const token = /^(?:bearer|token)\s+(.+)$/i.exec(authorization ?? '')?.[1];
    const user = this.#world.users.get(this.#world.tokens.get(token ?? '') ?? '');
    return user && !user.delete_at ? user : undefined;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const method = request.method ?? 'GET';
    const url = new URL(request.url ?? '/', 'http://fake');
    const user = this.userOf(request.headers.authorization);
    const fault = this.faults.take({ method, target: url.pathname + url.search, user: user?.username });
    if (fault?.delayMs) await wait(fault.delayMs, undefined, { signal: this.#closing.signal });
    const early = fault?.reset === 'before' && !fault.afterHandling;
    const body = early ? Buffer.alloc(0) : await readAll(request);
    const record = this.#record({ request, url, body, user });
    if (early) {
      request.socket.destroy();
      return;
    }
    fault?.meanwhile?.();
    const requestId = this.#world.newId();
    const refusal = this.#rateLimit?.refusal(request.headers.authorization ?? '', requestId);
    if (refusal) {
      record.status = refusal.status;
      return this.#send({ request, response, reply: refusal, requestId, fault: undefined });
    }
    const skip = fault?.status !== undefined && !fault.afterHandling;
    const answer = skip ? undefined : await this.#handle({ request, url, body, user, requestId });
    if (fault?.restart) this.#world.restart();
    if (fault?.restart || fault?.reset === 'before') {
      request.socket.destroy();
      return;
    }
    const reply = fault?.status === undefined ? answer : faultReply({ ...fault, status: fault.status }, requestId);
    if (!reply) return;
    record.status = reply.status;
    await this.#send({ request, response, reply, requestId, fault });
  }

  #record(parts: { request: IncomingMessage; url: URL; body: Buffer; user: User | undefined }): RecordedRequest {
    const { request, url, body, user } = parts;
    const headers: Record<string, string> = {};
    for (const [name, value] of Object.entries(request.headers)) {
      if (name !== 'authorization' && value !== undefined) headers[name] = String(value);
    }
    const record: RecordedRequest = {
      method: request.method ?? 'GET',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      headers,
      user: user?.username,
      json: /json/.test(headers['content-type'] ?? '') ? parsed(body) : undefined,
      bytes: body.length,
      sha256: createHash('sha256').update(body).digest('hex'),
      status: undefined,
    };
    this.requests.push(record);
    return record;
  }

  async #handle(parts: {
    request: IncomingMessage;
    url: URL;
    body: Buffer;
    user: User | undefined;
    requestId: string;
  }): Promise<Reply> {
    const { request, url, body, user, requestId } = parts;
    try {
      const method = request.method === 'HEAD' ? 'GET' : (request.method ?? 'GET');
      const match = this.#routes.find(method, url.pathname);
      if (!match) {
        this.unanswered.push(`${method} ${url.pathname}`);
        throw noSuchRoute(url.pathname);
      }
      if (!match.open && !user) throw sessionExpired();
      const params = { ...match.params };
      if (params.user_id === 'me' && user) params.user_id = user.id;
      checkParams(params);
      const call = new Call({
        world: this.#world,
        user: user ?? anonymous,
        params,
        query: url.searchParams,
        headers: request.headers,
        body,
      });
      return await match.handler(call);
    } catch (error) {
      if (error instanceof ApiError) return { status: error.status, body: error.toJson(requestId) };
      // an error of the fake itself: report it, so that no test mistakes it for a response of Mattermost
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
      return { status: 500, body: { id: 'fake.bug', message, detailed_error: '', status_code: 500 } };
    }
  }

  async #send(parts: {
    request: IncomingMessage;
    response: ServerResponse;
    reply: Reply;
    requestId: string;
    fault: Fault | undefined;
  }): Promise<void> {
    const { request, response, reply, requestId, fault } = parts;
    const version = this.#world.options.version;
    const bytes = bytesOf(reply.body);
    const plain = typeof reply.body === 'string' || Buffer.isBuffer(reply.body);
    const headers: Record<string, string> = {
      'Content-Type': plain ? 'text/plain; charset=utf-8' : 'application/json',
      'X-Request-Id': requestId,
      'X-Version-Id': `${version}.0.${version}.0.fake.false`,
      ...reply.headers,
    };
    if (reply.etag) {
      headers.ETag = `"${createHash('sha1').update(bytes).digest('hex')}"`;
      if (request.headers['if-none-match'] === headers.ETag) {
        response.writeHead(304, headers).end();
        return;
      }
    }
    response.writeHead(reply.status, { 'Content-Length': String(bytes.length), ...headers });
    if (fault?.reset) {
      const part = bytes.subarray(0, fault.reset === 'mid-body' ? Math.ceil(bytes.length / 2) : 0);
      response.flushHeaders();
      // break the connection only after this chunk was sent
      response.write(part.length > 0 ? part : '', () => request.socket.destroy());
      if (part.length === 0) setImmediate(() => request.socket.destroy());
      return;
    }
    if (request.method === 'HEAD') response.end();
    else if (fault?.slowBodyMs) await this.#sendSlowly(response, { bytes, slowBodyMs: fault.slowBodyMs });
    else response.end(bytes);
  }

  async #sendSlowly(response: ServerResponse, { bytes, slowBodyMs }: { bytes: Buffer; slowBodyMs: number }) {
    const pieces = 10;
    const size = Math.max(1, Math.ceil(bytes.length / pieces));
    for (let start = 0; start < bytes.length; start += size) {
      if (response.destroyed) return;
      response.write(bytes.subarray(start, start + size));
      await wait(slowBodyMs / pieces, undefined, { signal: this.#closing.signal });
    }
    response.end();
  }
}

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks);
}

function parsed(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}

function bytesOf(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}
