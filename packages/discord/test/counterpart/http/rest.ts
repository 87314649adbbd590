// The HTTP server: finds the route, checks token and rate limits, and records every request.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { ApiError, unauthorized, unknownRoute } from '../state/api-error.ts';
import type { World } from '../state/world.ts';
import { type Call, type Handler, parseJson, type Routes, readBody } from './call.ts';
import type { RateLimiter } from './rate-limits.ts';

export interface SeenRequest {
  at: number;
  method: string;
  path: string;
  /** Undefined if there is no such route. */
  route?: string;
  status: number;
  body: string;
}

/**
 * A simulated failure: an HTTP status, `'cut'` to close the connection, `'lost'` to do the work but not answer, an
 * error of `api-error.ts`, or the HTML page of a proxy in front of Discord.
 */
export interface PlayedFailure {
  /** Matched against `METHOD /path`. */
  request: RegExp;
  /** Only requests whose JSON body matches. */
  body?: RegExp;
  /** Only requests with files. */
  withFiles?: boolean;
  status: number | 'cut' | 'lost' | ApiError | { proxy: number };
  /** How often; `Infinity` for the rest of the test. */
  times?: number;
  /** For 429: when to retry. */
  retryAfterMs?: number;
}

interface Route {
  name: string;
  method: string;
  segments: string[];
  handler: Handler;
}

const PROXY_PAGE = '<html><head><title>Request blocked</title></head><body>Ask your administrator.</body></html>';
const API = /^\/api(\/v10)?(?=\/)/;

export class Rest {
  readonly requests: SeenRequest[] = [];
  readonly #world: World;
  readonly #token: string;
  readonly #limiter: RateLimiter;
  readonly #routes: Route[];
  readonly #failures: (PlayedFailure & { times: number })[] = [];

  constructor({
    world,
    token,
    limiter,
    routes,
  }: { world: World; token: string; limiter: RateLimiter; routes: Routes }) {
    this.#world = world;
    this.#token = token;
    this.#limiter = limiter;
    this.#routes = Object.entries(routes).map(([name, handler]) => {
      const [method = '', path = ''] = name.split(' ');
      return { name, method, segments: path.split('/'), handler };
    });
    // `messages/pins` must match before `messages/:message`
    const wildcards = ({ name }: Route) => name.split(':').length;
    this.#routes.sort((one, other) => wildcards(one) - wildcards(other));
  }

  fail({ times = 1, ...failure }: PlayedFailure): void {
    this.#failures.push({ ...failure, times });
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = 'GET' } = request;
    const url = new URL(request.url ?? '/', 'http://discord.local');
    if (url.pathname.startsWith('/attachments/')) return this.#sendFile(url.pathname, response);
    const path = url.pathname.replace(API, '');
    const { text, files } = await readBody(request);
    const seen: SeenRequest = { at: Date.now(), method, path, status: 0, body: text };
    this.requests.push(seen);

    const failure = this.#failures.find((played) => fits(played, { line: `${method} ${path}`, text, files }));
    if (failure) failure.times--;
    const status = failure?.status;
    if (status === 'cut') {
      request.socket.destroy();
      return;
    }
    if (typeof status === 'object' && 'proxy' in status) {
      seen.status = status.proxy;
      response.writeHead(status.proxy, { 'Content-Type': 'text/html' }).end(PROXY_PAGE);
      this.#world.changed();
      return;
    }

    let headers: Record<string, string> = {};
    let result: object | undefined;
    try {
      if (failure?.retryAfterMs !== undefined) headers = { 'Retry-After': String(failure.retryAfterMs / 1000) };
      if (status instanceof ApiError) throw status;
      if (typeof status === 'number') throw new ApiError(status, 0, { message: `${status}: played on purpose` });
      const { route, params } = this.#find(method, path);
      seen.route = route.name;
      if (!isOpen(route) && request.headers.authorization !== `Bot ${this.#token}`) throw unauthorized();
      const verdict = this.#limiter.check({ route: route.name, path, params });
      headers = verdict.headers;
      if (verdict.refused) {
        const { global, retryAfterSeconds } = verdict.refused;
        seen.status = 429;
        result = { message: 'You are being rate limited.', retry_after: retryAfterSeconds, global };
      } else {
        result = route.handler(callOf({ params, query: url.searchParams, text, files }));
        seen.status = result ? 200 : 204;
      }
    } catch (error) {
      const refused = error instanceof ApiError ? error : new ApiError(500, 0, { message: String(error) });
      seen.status = refused.status;
      result = refused.toJSON();
    }
    if (result) headers = { ...headers, 'Content-Type': 'application/json' };
    if (status !== 'lost') response.writeHead(seen.status, headers).end(result && JSON.stringify(result));
    this.#world.changed();
  }

  #find(method: string, path: string): { route: Route; params: Record<string, string> } {
    const segments = path.split('/');
    for (const route of this.#routes) {
      if (route.method !== method || route.segments.length !== segments.length) continue;
      const params: Record<string, string> = {};
      const fits = route.segments.every((segment, index) => {
        const given = segments[index] ?? '';
        if (!segment.startsWith(':')) return segment === given;
        params[segment.slice(1)] = decodeURIComponent(given);
        return true;
      });
      if (fits) return { route, params };
    }
    throw unknownRoute();
  }

  #sendFile(path: string, response: ServerResponse): void {
    const file = this.#world.files.get(path.split('/')[3] ?? '');
    if (file) response.writeHead(200, { 'Content-Type': file.contentType }).end(file.bytes);
    else response.writeHead(404).end('This content is no longer available.');
  }
}

function fits(
  { times, request, body, withFiles }: PlayedFailure & { times: number },
  { line, text, files }: { line: string; text: string; files: readonly unknown[] },
): boolean {
  return times > 0 && request.test(line) && (body?.test(text) ?? true) && (!withFiles || files.length > 0);
}

/** Interaction routes have their token in the path and need no bot token. */
function isOpen({ segments }: Route): boolean {
  return segments[1] === 'interactions' || segments[1] === 'webhooks';
}

function callOf({
  params,
  query,
  text,
  files,
}: Pick<Call, 'query' | 'files'> & { params: Record<string, string>; text: string }): Call {
  return {
    query,
    files,
    param(name) {
      const value = params[name];
      if (value === undefined) throw new Error(`The route has no parameter "${name}".`);
      return value;
    },
    json: <Body>() => parseJson<Body>(text),
  };
}
