// The Mattermost REST API for one account: JSON requests, safe retries, and every failure as a MattermostError.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { errorText, isMattermostError, MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { delay } from './deadline.ts';
import type { HttpPool, OutgoingRequest } from './http-pool.ts';
import { path, type Query, withQuery } from './path.ts';
import type { PostListRecord, PostRecord, UserRecord } from './records.ts';
import {
  backoff,
  canRetryFault,
  canRetryStatus,
  isCertificateError,
  isNetworkError,
  type RetrySafety,
  readRetryAfter,
  wasNeverSent,
} from './retry.ts';
import { statusError } from './status-error.ts';

const MAX_JSON_BYTES = 32_000_000;
const MAX_ERROR_BODY_BYTES = 64_000;
/** Mattermost remembers a `pending_post_id` for 30 s or until it restarts. A retry after that creates a second post. */
const DEDUPLICATION_WINDOW_MS = 25_000;
/** Error id while the first of two identical posts is being stored. */
const STILL_PENDING = 'api.post.deduplicate_create_post.pending';
/** How many recent posts are searched for a post that may have been stored. */
const RECENT_POSTS = 200;
const MAY_HAVE_TAKEN_EFFECT = ' The change may have been made anyway: check before you repeat it.';

export interface ApiOptions {
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

interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  path: string;
  query?: Query | undefined;
  json?: unknown;
  /** A file upload instead of JSON. */
  stream?: { type: string; length: number; open: () => Readable };
  safety: RetrySafety;
  /** Mattermost drops duplicates, so any network error may be retried within the deduplication window. */
  isDeduplicated?: boolean;
  /** Checks before a retry whether an attempt with an unknown outcome took effect. */
  find?: () => Promise<unknown>;
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

  put<Shape extends object>(path: string, json: unknown): Promise<Shape> {
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
    return this.#send({ method: 'GET', path, safety: 'read' }, transferTimeoutMs, read);
  }

  async #object<Shape extends object>(request: ApiRequest): Promise<Shape> {
    const value = await this.#json(request);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Shape;
    throw unexpected(request, 'is not an object');
  }

  async #list<Item>(request: ApiRequest): Promise<Item[]> {
    const value = await this.#json(request);
    if (value === null) return []; // Mattermost sometimes sends null for an empty list
    if (Array.isArray(value)) return value;
    throw unexpected(request, 'is not a list');
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
        throw unexpected(
          request,
          `is not JSON (${type}); check that MATTERMOST_URL is the address of Mattermost`,
          error,
        );
      }
    };
    return this.#send(request, limit, read, request.find);
  }

  async #send<Result>(
    request: ApiRequest,
    timeoutMs: number,
    read: (response: IncomingMessage) => Promise<Result>,
    find?: () => Promise<Result | undefined>,
  ): Promise<Result> {
    const { pool, config, signal, token, onTokenRejected } = this.#options;
    const outgoing = this.#outgoing(request, timeoutMs);
    const started = Date.now();
    let mayHaveTakenEffect = false;
    for (let attempt = 0; ; attempt++) {
      const isBound = mayHaveTakenEffect && request.isDeduplicated === true;
      const left = isBound ? started + DEDUPLICATION_WINDOW_MS - Date.now() : timeoutMs;
      let retryAfterMs: number | undefined;
      try {
        return await pool.exchange({ ...outgoing, sendWithinMs: left }, async (response) => {
          const status = response.statusCode ?? 0;
          this.#logAnswer(request, status, attempt);
          if (status >= 200 && status < 300) return await read(response);
          retryAfterMs = readRetryAfter(response.headers['retry-after']);
          const body = await readBody(response, MAX_ERROR_BODY_BYTES).catch(() => Buffer.alloc(0));
          throw statusError({ status, body, location: response.headers.location, retryAfterMs });
        });
      } catch (error) {
        if (isMattermostError(error, 'AUTHENTICATION_FAILED')) onTokenRejected?.();
        mayHaveTakenEffect ||= request.safety !== 'read' && isOutcomeUnknown(error);
        // add jitter to Retry-After as well, so that clients do not all return at the same moment
        const wait = (retryAfterMs ?? 0) + backoff(attempt, config.backoffMs);
        const isLate =
          mayHaveTakenEffect && request.isDeduplicated && Date.now() + wait > started + DEDUPLICATION_WINDOW_MS;
        const isLast = attempt >= config.maxRetries || (retryAfterMs ?? 0) > config.longestRetryWaitMs;
        const told = asMattermostError(error, request, { mayHaveTakenEffect, token, url: config.url });
        if (isLast || isLate || !canRetry(error, request)) throw told;
        await delay(wait, signal);
        const found = mayHaveTakenEffect ? await find?.().catch(() => Promise.reject(told)) : undefined;
        if (found !== undefined) return found;
      }
    }
  }

  #logAnswer({ method, path }: ApiRequest, status: number, attempt: number): void {
    this.#options.log.debug('mattermost_request', { method, endpoint: withoutNames(path), status, attempt });
  }

  #outgoing({ method, path, query, json, stream }: ApiRequest, timeoutMs: number): OutgoingRequest {
    const { token, signal, config } = this.#options;
    const headers: Record<string, string> = { accept: 'application/json' };
    if (token !== undefined) headers.authorization = `Bearer ${token}`;
    const body = stream?.open ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)));
    if (stream) Object.assign(headers, { 'content-type': stream.type, 'content-length': String(stream.length) });
    else if (body instanceof Buffer) {
      Object.assign(headers, { 'content-type': 'application/json', 'content-length': String(body.length) });
    }
    return { method, path: `${config.apiPath}${withQuery(path, query)}`, headers, body, timeoutMs, signal };
  }
}

/** For the log, which may contain ids but no names. */
function withoutNames(path: string): string {
  return path.replace(/\/(name|username)\/[^/]+/g, '/$1/…');
}

export async function readBody(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > maxBytes) {
      throw new MattermostError(
        'TOO_LARGE',
        `The response of Mattermost is larger than ${maxBytes} bytes; ask for less.`,
      );
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function unexpected({ method, path }: ApiRequest, what: string, cause?: unknown): MattermostError {
  return new MattermostError('ANSWER_INVALID', `The response of Mattermost to ${method} ${path} ${what}.`, { cause });
}

function canRetry(error: unknown, { safety, isDeduplicated = false }: ApiRequest): boolean {
  if (!isMattermostError(error)) return canRetryFault(error, isDeduplicated ? 'deduplicated' : safety);
  const isPending = isDeduplicated && error.errorId === STILL_PENDING;
  return isPending || canRetryStatus(error.status ?? 0, safety);
}

/** Whether a change may have been made despite this error. */
function isOutcomeUnknown(error: unknown): boolean {
  if (isMattermostError(error)) return ['TIMEOUT', 'SERVER_ERROR', 'ANSWER_INVALID'].includes(error.code);
  return isNetworkError(error) && !isCertificateError(error) && !wasNeverSent(error);
}

/** Converts to a MattermostError without the token, with a warning if the change may have been made. */
function asMattermostError(
  error: unknown,
  { method, path }: ApiRequest,
  { mayHaveTakenEffect, token, url }: { mayHaveTakenEffect: boolean; token: string | undefined; url: string },
): unknown {
  const hidden = (text: string) => (token === undefined ? text : text.replaceAll(token, '[token]'));
  const told = (text: string) => hidden(mayHaveTakenEffect ? text + MAY_HAVE_TAKEN_EFFECT : text);
  if (isMattermostError(error)) {
    const { code, status, errorId, cause } = error;
    const message = told(error.message);
    if (message === error.message) return error;
    return new MattermostError(code, message, { status, errorId: errorId && hidden(errorId), cause });
  }
  if (!isNetworkError(error)) return error;
  const advice = isCertificateError(error)
    ? 'Have MATTERMOST_EXTRA_CA_CERTS set to the certificate of its authority.'
    : 'Try again after a while; if the address is wrong, have MATTERMOST_URL corrected.';
  const text = `Mattermost could not be reached at ${url} (${method} ${path}): ${errorText(error)}. ${advice}`;
  return new MattermostError('UNREACHABLE', told(text), { cause: error });
}
