// The Mattermost REST API for one account: JSON requests, safe retries, and every failure as a MattermostError.
import type { IncomingMessage } from 'node:http';
import { retryAfterHeader } from '@pocket-agent/kit';
import { isMattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { type ApiRequest, loggablePath, toOutgoing } from './api-request.ts';
import { readBody } from './body.ts';
import { delay } from './deadline.ts';
import type { HttpPool } from './http-pool.ts';
import { path, type Query } from './path.ts';
import type { PostListRecord, PostRecord, UserRecord } from './records.ts';
import { canRetry, isOutcomeUnknown, toMattermostError, unexpectedResponse } from './request-errors.ts';
import { backoff } from './retry.ts';
import { statusError } from './status-error.ts';

const MAX_JSON_BYTES = 32_000_000;
const MAX_ERROR_BODY_BYTES = 64_000;
/** Mattermost remembers a `pending_post_id` for 30 s or until it restarts. A retry after that creates a second post. */
const DEDUPLICATION_WINDOW_MS = 25_000;
/** How many recent posts are searched for a post that may have been stored. */
const RECENT_POSTS = 200;

interface ApiOptions {
  pool: HttpPool;
  config: MattermostConfig;
  /** Undefined for requests without authentication. */
  token: string | undefined;
  signal: AbortSignal;
  log: Log;
  /** Called when Mattermost rejects the token. */
  onTokenRejected?: (() => void) | undefined;
}

export interface NewPost {
  channel_id: string;
  /** Identical in every attempt, so that Mattermost stores the post once. */
  pending_post_id: string;
  props?: Record<string, unknown>;
  [field: string]: unknown;
}

interface PostSearch {
  channelId: string;
  /** Search only posts after this one. */
  after?: string;
  /** Name and value of the prop that identifies the post. */
  prop: string;
  key: string;
}

interface SendOptions<Result> {
  timeoutMs: number;
  read(response: IncomingMessage): Promise<Result>;
  /** Looks for the effect of a request whose outcome is unknown, before it is sent again. */
  find?: (() => Promise<Result | undefined>) | undefined;
}

export class MattermostApi {
  readonly #options: ApiOptions;

  constructor(options: ApiOptions) {
    this.#options = options;
  }

  get<Shape extends object>(path: string, query?: Query): Promise<Shape> {
    return this.#object({ method: 'GET', path, query, safety: 'read' });
  }

  list<Item>(path: string, query?: Query): Promise<Item[]> {
    return this.#list({ method: 'GET', path, query, safety: 'read' });
  }

  /** A POST request that only reads. */
  query<Shape extends object>(path: string, json: unknown): Promise<Shape> {
    return this.#object({ method: 'POST', path, json, safety: 'read' });
  }

  queryList<Item>(path: string, json: unknown): Promise<Item[]> {
    return this.#list({ method: 'POST', path, json, safety: 'read' });
  }

  post<Shape extends object>(path: string, json?: unknown): Promise<Shape> {
    return this.#object({ method: 'POST', path, json, safety: 'once' });
  }

  postList<Item>(path: string, json: unknown): Promise<Item[]> {
    return this.#list({ method: 'POST', path, json, safety: 'once' });
  }

  /** Creates a post exactly once, even if Mattermost restarts during the request: retries look for `prop` first. */
  createPost(post: NewPost, prop: string): Promise<PostRecord> {
    const { channel_id, pending_post_id: key } = post;
    const json = { ...post, props: { ...post.props, [prop]: key } };
    const find = () => this.findOwnPost({ channelId: channel_id, prop, key });
    return this.#object({ method: 'POST', path: '/posts', json, safety: 'idempotent', isDeduplicated: true, find });
  }

  /** Finds a recent post of this account by a prop. Other accounts can copy props, so their posts do not count. */
  async findOwnPost({ channelId, after, prop, key }: PostSearch): Promise<PostRecord | undefined> {
    const { id: me } = await this.get<UserRecord>('/users/me');
    const query = { after, per_page: RECENT_POSTS, skipFetchThreads: true };
    const { posts } = await this.get<PostListRecord>(path`/channels/${channelId}/posts`, query);
    return Object.values(posts ?? {}).find(({ user_id, props }) => user_id === me && props?.[prop] === key);
  }

  put<Shape extends object>(path: string, json?: unknown): Promise<Shape> {
    return this.#object({ method: 'PUT', path, json, safety: 'idempotent' });
  }

  patch<Shape extends object>(path: string, json: unknown): Promise<Shape> {
    return this.#object({ method: 'PATCH', path, json, safety: 'idempotent' });
  }

  delete<Shape extends object>(path: string): Promise<Shape> {
    return this.#object({ method: 'DELETE', path, safety: 'idempotent' });
  }

  upload<Shape extends object>(path: string, stream: NonNullable<ApiRequest['stream']>): Promise<Shape> {
    return this.#object({ method: 'POST', path, stream, safety: 'once' });
  }

  /** Streams the response to `read`. After a broken connection `read` is called again, from the start of the file. */
  download<Result>(path: string, read: (response: IncomingMessage) => Promise<Result>): Promise<Result> {
    const { transferTimeoutMs } = this.#options.config;
    return this.#send({ method: 'GET', path, safety: 'read' }, { timeoutMs: transferTimeoutMs, read });
  }

  async #object<Shape extends object>(request: ApiRequest): Promise<Shape> {
    const value = await this.#json(request);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Shape;
    throw unexpectedResponse(request, 'is not an object');
  }

  async #list<Item>(request: ApiRequest): Promise<Item[]> {
    const value = await this.#json(request);
    if (value === null) return []; // Mattermost sometimes sends null for an empty list
    if (Array.isArray(value)) return value;
    throw unexpectedResponse(request, 'is not a list');
  }

  #json(request: ApiRequest): Promise<unknown> {
    const { timeoutMs, transferTimeoutMs } = this.#options.config;
    const limit = request.stream ? transferTimeoutMs : timeoutMs;
    const read = async (response: IncomingMessage): Promise<unknown> => {
      const body = await readBody(response, MAX_JSON_BYTES);
      if (body.length === 0) return {};
      try {
        return JSON.parse(body.toString('utf8'));
      } catch (error) {
        const type = response.headers['content-type']?.split(';', 1)[0] ?? 'no type';
        throw unexpectedResponse(
          request,
          `is not JSON (${type}); check that MATTERMOST_URL is the address of Mattermost`,
          error,
        );
      }
    };
    return this.#send(request, { timeoutMs: limit, read, find: request.find });
  }

  async #send<Result>(request: ApiRequest, { timeoutMs, read, find }: SendOptions<Result>): Promise<Result> {
    const { pool, config, signal, token, log, onTokenRejected } = this.#options;
    const outgoing = toOutgoing(request, timeoutMs, this.#options);
    const retryDeadline = Date.now() + DEDUPLICATION_WINDOW_MS;
    let mayHaveTakenEffect = false;
    for (let attempt = 0; ; attempt++) {
      const isTimeBound = () => mayHaveTakenEffect && request.isDeduplicated === true;
      const sendWithinMs = isTimeBound() ? retryDeadline - Date.now() : timeoutMs;
      let retryAfterMs = 0;
      try {
        return await pool.exchange({ ...outgoing, sendWithinMs }, async (response) => {
          const status = response.statusCode ?? 0;
          log.debug('mattermost_request', { method: request.method, endpoint: loggablePath(request), status, attempt });
          if (status >= 200 && status < 300) return await read(response);
          const retryAfter = retryAfterHeader({ 'retry-after': response.headers['retry-after'] });
          retryAfterMs = retryAfter ?? 0;
          const body = await readBody(response, MAX_ERROR_BODY_BYTES).catch(() => Buffer.alloc(0));
          throw statusError({ status, body, location: response.headers.location, retryAfterMs: retryAfter });
        });
      } catch (error) {
        if (isMattermostError(error, 'AUTHENTICATION_FAILED')) onTokenRejected?.();
        mayHaveTakenEffect ||= request.safety !== 'read' && isOutcomeUnknown(error);
        // add jitter to Retry-After as well, so that clients do not all return at the same moment
        const wait = retryAfterMs + backoff(attempt, config.backoffMs);
        const isLate = isTimeBound() && Date.now() + wait > retryDeadline;
        const isLast = attempt >= config.maxRetries || retryAfterMs > config.longestRetryWaitMs;
        const reported = toMattermostError(error, { request, mayHaveTakenEffect, token, url: config.url });
        if (isLast || isLate || !canRetry(error, request)) throw reported;
        await delay(wait, signal);
        const found = mayHaveTakenEffect ? await find?.().catch(() => Promise.reject(reported)) : undefined;
        if (found !== undefined) return found;
      }
    }
  }
}
