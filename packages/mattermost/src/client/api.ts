// The Mattermost API for one caller: JSON in and out, sent again where that is safe, every failure a MattermostError.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { errorText, isMattermostError, MattermostError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { delay } from './deadline.ts';
import type { HttpPool, Outgoing } from './http-pool.ts';
import { path, type Query, withQuery } from './path.ts';
import type { PostListRecord, PostRecord, UserRecord } from './records.ts';
import {
  backoff,
  isCertificateFault,
  isNetworkFault,
  mayRepeatFault,
  mayRepeatStatus,
  neverArrived,
  readRetryAfter,
  type Safety,
} from './retry.ts';
import { statusError } from './status-error.ts';

const LARGEST_JSON = 32_000_000;
const LARGEST_REFUSAL = 64_000;
/** Mattermost remembers a `pending_post_id` for 30 s, unless it is restarted; after that the post would be a second one. */
const DEDUPLICATED_MS = 25_000;
/** What it says while the first of two is not stored yet. */
const STILL_PENDING = 'api.post.deduplicate_create_post.pending';
/** Among these a post of a moment ago is looked for. */
const RECENT_POSTS = 200;
const MAY_HAVE_HAPPENED = ' It may have been carried out all the same: look before you repeat it.';

export interface ApiOptions {
  pool: HttpPool;
  config: MattermostConfig;
  /** Without one the request says nothing of who asks. */
  token: string | undefined;
  signal: AbortSignal;
  log: Log;
  /** Mattermost refused the token. */
  onRefused?: (() => void) | undefined;
}

export interface NewPost {
  channel_id: string;
  /** The same for every attempt, so that Mattermost stores the post once. */
  pending_post_id: string;
  props?: Record<string, unknown>;
  [field: string]: unknown;
}

interface PostSearch {
  channelId: string;
  /** A post that is older. */
  after?: string;
  /** A prop, and its value. */
  mark: string;
  key: string;
}

interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  path: string;
  query?: Query | undefined;
  json?: unknown;
  /** Instead of JSON: a file. */
  stream?: { type: string; length: number; open: () => Readable };
  safety: Safety;
  /** Mattermost itself drops the second of two; any fault may be repeated for a while. */
  isDeduplicated?: boolean;
  /** Looks whether an attempt with an unclear end took effect; asked before the next one. */
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

  /** A POST that only asks. */
  ask<Shape extends object>(path: string, json: unknown): Promise<Shape> {
    return this.#object({ method: 'POST', path, json, safety: 'read' });
  }

  askList<Item>(path: string, json: unknown): Promise<Item[]> {
    return this.#list({ method: 'POST', path, json, safety: 'read' });
  }

  post<Shape extends object>(path: string, json?: unknown): Promise<Shape> {
    return this.#object({ method: 'POST', path, json, safety: 'once' });
  }

  postList<Item>(path: string, json: unknown): Promise<Item[]> {
    return this.#list({ method: 'POST', path, json, safety: 'once' });
  }

  /** Stored once, even if Mattermost restarts during the request: the post is found by its prop `mark`. */
  createPost(post: NewPost, mark: string): Promise<PostRecord> {
    const { channel_id, pending_post_id: key } = post;
    const json = { ...post, props: { ...post.props, [mark]: key } };
    const find = () => this.findOwnPost({ channelId: channel_id, mark, key });
    return this.#object({ method: 'POST', path: '/posts', json, safety: 'idempotent', isDeduplicated: true, find });
  }

  /** A recent post of this account with that prop. Others can read the props of a post and write the same. */
  async findOwnPost({ channelId, after, mark, key }: PostSearch): Promise<PostRecord | undefined> {
    const { id: me } = await this.get<UserRecord>('/users/me');
    const query = { after, per_page: RECENT_POSTS, skipFetchThreads: true };
    const { posts } = await this.get<PostListRecord>(path`/channels/${channelId}/posts`, query);
    return Object.values(posts ?? {}).find(({ user_id, props }) => user_id === me && props?.[mark] === key);
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

  /** Hands the answer to `read` as it comes; `read` is called again from the start when the answer breaks off. */
  download<Result>(path: string, read: (response: IncomingMessage) => Promise<Result>): Promise<Result> {
    const { transferTimeoutMs } = this.#options.config;
    return this.#send({ method: 'GET', path, safety: 'read' }, transferTimeoutMs, read);
  }

  async #object<Shape extends object>(request: ApiRequest): Promise<Shape> {
    const value = await this.#json(request);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Shape;
    throw unexpected(request, 'is no object');
  }

  async #list<Item>(request: ApiRequest): Promise<Item[]> {
    const value = await this.#json(request);
    if (value === null) return []; // how Mattermost writes an empty list at times
    if (Array.isArray(value)) return value;
    throw unexpected(request, 'is no list');
  }

  #json(request: ApiRequest): Promise<unknown> {
    const { timeoutMs, transferTimeoutMs } = this.#options.config;
    const limit = request.stream ? transferTimeoutMs : timeoutMs;
    const read = async (response: IncomingMessage): Promise<unknown> => {
      const body = await readBody(response, LARGEST_JSON);
      if (body.length === 0) return {};
      try {
        return JSON.parse(body.toString('utf8'));
      } catch (error) {
        const type = response.headers['content-type']?.split(';', 1)[0] ?? 'no type';
        throw unexpected(request, `is no JSON (${type}); see that MATTERMOST_URL is its own address`, error);
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
    const { pool, config, signal, token, onRefused } = this.#options;
    const outgoing = this.#outgoing(request, timeoutMs);
    const started = Date.now();
    let mayHaveHappened = false;
    for (let attempt = 0; ; attempt++) {
      const isBound = mayHaveHappened && request.isDeduplicated === true;
      const left = isBound ? started + DEDUPLICATED_MS - Date.now() : timeoutMs;
      let retryAfterMs: number | undefined;
      try {
        return await pool.exchange({ ...outgoing, sendWithinMs: left }, async (response) => {
          const status = response.statusCode ?? 0;
          this.#logAnswer(request, status, attempt);
          if (status >= 200 && status < 300) return await read(response);
          retryAfterMs = readRetryAfter(response.headers['retry-after']);
          const body = await readBody(response, LARGEST_REFUSAL).catch(() => Buffer.alloc(0));
          throw statusError({ status, body, location: response.headers.location, retryAfterMs });
        });
      } catch (error) {
        if (isMattermostError(error, 'AUTHENTICATION_FAILED')) onRefused?.();
        mayHaveHappened ||= request.safety !== 'read' && isUnclear(error);
        // chance also in a wait that was asked for, so that those who were told the same do not come back together
        const wait = (retryAfterMs ?? 0) + backoff(attempt, config.backoffMs);
        const isLate = mayHaveHappened && request.isDeduplicated && Date.now() + wait > started + DEDUPLICATED_MS;
        const isLast = attempt >= config.maxRetries || (retryAfterMs ?? 0) > config.longestRetryWaitMs;
        const told = asMattermostError(error, request, { mayHaveHappened, token, url: config.url });
        if (isLast || isLate || !mayRepeat(error, request)) throw told;
        await delay(wait, signal);
        const found = mayHaveHappened ? await find?.().catch(() => Promise.reject(told)) : undefined;
        if (found !== undefined) return found;
      }
    }
  }

  #logAnswer({ method, path }: ApiRequest, status: number, attempt: number): void {
    this.#options.log.debug('mattermost_request', { method, endpoint: withoutNames(path), status, attempt });
  }

  #outgoing({ method, path, query, json, stream }: ApiRequest, timeoutMs: number): Outgoing {
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

/** For the log, where ids may stand but not what people are called. */
function withoutNames(path: string): string {
  return path.replace(/\/(name|username)\/[^/]+/g, '/$1/…');
}

export async function readBody(response: IncomingMessage, largest: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of response) {
    size += chunk.length;
    if (size > largest) {
      throw new MattermostError('TOO_LARGE', `The answer of Mattermost is larger than ${largest} bytes; ask for less.`);
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function unexpected({ method, path }: ApiRequest, what: string, cause?: unknown): MattermostError {
  return new MattermostError('ANSWER_INVALID', `The answer of Mattermost to ${method} ${path} ${what}.`, { cause });
}

function mayRepeat(error: unknown, { safety, isDeduplicated = false }: ApiRequest): boolean {
  if (!isMattermostError(error)) return mayRepeatFault(error, isDeduplicated ? 'deduplicated' : safety);
  const isPending = isDeduplicated && error.errorId === STILL_PENDING;
  return isPending || mayRepeatStatus(error.status ?? 0, safety);
}

/** Whether a change that failed so may have been made. */
function isUnclear(error: unknown): boolean {
  if (isMattermostError(error)) return ['TIMEOUT', 'SERVER_ERROR', 'ANSWER_INVALID'].includes(error.code);
  return isNetworkFault(error) && !isCertificateFault(error) && !neverArrived(error);
}

/** What is told: of a change whose fate is not known that it may have been made, and never the token. */
function asMattermostError(
  error: unknown,
  { method, path }: ApiRequest,
  { mayHaveHappened, token, url }: { mayHaveHappened: boolean; token: string | undefined; url: string },
): unknown {
  const hidden = (text: string) => (token === undefined ? text : text.replaceAll(token, '[token]'));
  const told = (text: string) => hidden(mayHaveHappened ? text + MAY_HAVE_HAPPENED : text);
  if (isMattermostError(error)) {
    const { code, status, errorId, cause } = error;
    const message = told(error.message);
    if (message === error.message) return error;
    return new MattermostError(code, message, { status, errorId: errorId && hidden(errorId), cause });
  }
  if (!isNetworkFault(error)) return error;
  const advice = isCertificateFault(error)
    ? 'Have MATTERMOST_EXTRA_CA_CERTS set to the certificate of its authority.'
    : 'Try again after a while; if the address is wrong, have MATTERMOST_URL corrected.';
  const text = `Mattermost could not be reached at ${url} (${method} ${path}): ${errorText(error)}. ${advice}`;
  return new MattermostError('UNREACHABLE', told(text), { cause: error });
}
