// Agent3 as a client of a hub. The hub takes the caller from the token.
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import type { z } from 'zod';
import { LINES } from '../api/call-lines.ts';
import { VIA } from '../api/query.ts';
import { type Allowance, account, type StatementQuery, statement } from '../base/account.ts';
import { type Agent3, type Caller, hubHealth, type SearchOptions } from '../base/agent3.ts';
import { Agent3Error, type Agent3ErrorCode } from '../base/agent3-error.ts';
import {
  agentDetails,
  type Credential,
  claimResult,
  invocation,
  type ListingQuery,
  listing,
  type Registration,
  reportList,
  type SearchQuery,
  searchPage,
} from '../base/agents.ts';
import {
  type CallLogQuery,
  callLog,
  callLogEntry,
  type Feedback,
  feedbackResult,
  type StatisticsQuery,
  statistics,
} from '../base/call-records.ts';
import {
  type CallOptions,
  type CallRequest,
  type CallResponse,
  callLine,
  failure,
  type TaskRequest,
} from '../base/calls.ts';

/** The address of a hub and the token of its caller. */
export interface RemoteAgent3Options {
  /** The URL of the hub. */
  url: string;
  /** From `agent3 token OWNER` at the hub; not needed for reading, unless the hub is private. */
  token?: string | undefined;
}

interface SendOptions {
  method?: 'POST' | 'PUT' | 'DELETE';
  body?: object;
  accept?: string;
  signal?: AbortSignal;
  via?: readonly string[];
}

const MAX_BYTES = 32 * 1024 * 1024;
const TIMEOUT_MS = 30_000;
const DEFAULT_CALL_TIMEOUT_MS = 30_000;
/** Extra time for a hub that does not end a call at its timeout. */
const GRACE_MS = 15_000;
const BROKE_OFF = 'closed the connection in the middle of a response';

/** Error codes of the hub that are passed on to the caller. */
const forwardedCodes: readonly Agent3ErrorCode[] = [
  'INPUT_INVALID',
  'AGENT_UNKNOWN',
  'CARD_INVALID',
  'CARD_UNAVAILABLE',
  'SIGNATURE_INVALID',
  'FORBIDDEN',
  'SECRET_KEY',
  'RECEIPT_INVALID',
  'ALREADY_RATED',
];

export class RemoteAgent3 implements Agent3 {
  readonly #base: URL;
  readonly #token: string | undefined;
  readonly #fetch: HttpFetch = makeFetch({ guard: 'none', maxBytes: MAX_BYTES });

  constructor({ url, token }: RemoteAgent3Options) {
    const base = URL.parse(url.endsWith('/') ? url : `${url}/`);
    if (!base || !/^https?:$/.test(base.protocol))
      throw new Agent3Error('CONFIG_INVALID', 'The URL of the hub must begin with http:// or https://');
    this.#base = base;
    this.#token = token;
  }

  search({ query, limit, cursor, filters = {} }: SearchQuery, _caller?: Caller, options: SearchOptions = {}) {
    return this.#request(`api/agents${queryText({ query, limit, cursor, ...filters })}`, searchPage, options);
  }

  select(agentId: string) {
    return this.#request(agentPath(agentId), agentDetails);
  }

  invoke(agentId: string) {
    return this.#request(`${agentPath(agentId)}/card`, invocation);
  }

  call(request: CallRequest, _caller?: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#follow('api/calls', request, { ...options, timeoutMs: request.metadata?.timeout });
  }

  task(request: TaskRequest, _caller?: Caller, options: CallOptions = {}): Promise<CallResponse> {
    return this.#follow('api/tasks', request, { ...options, timeoutMs: request.timeout });
  }

  feedback(body: Feedback) {
    return this.#request('api/feedback', feedbackResult, { method: 'POST', body });
  }

  register(body: Registration) {
    return this.#request('api/agents', agentDetails, { method: 'POST', body });
  }

  async unregister(agentId: string): Promise<void> {
    await this.#send(agentPath(agentId), { method: 'DELETE' });
  }

  calls(query: CallLogQuery) {
    return this.#request(`api/calls${queryText({ ...query })}`, callLog);
  }

  list(query: ListingQuery) {
    return this.#request(`api/listing${queryText({ ...query })}`, listing);
  }

  claim(agentId: string) {
    return this.#request(`${agentPath(agentId)}/claim`, claimResult, { method: 'POST', body: {} });
  }

  async setCredentials(agentId: string, credentials: readonly Credential[]): Promise<void> {
    await this.#send(`${agentPath(agentId)}/credentials`, { method: 'PUT', body: { credentials } });
  }

  async report(agentId: string, reason: string): Promise<void> {
    await this.#send(`${agentPath(agentId)}/reports`, { method: 'POST', body: { reason } });
  }

  async moderate(agentId: string, hidden: string | undefined): Promise<void> {
    await this.#send(`${agentPath(agentId)}/moderation`, { method: 'PUT', body: { hidden: hidden ?? null } });
  }

  reports() {
    return this.#request('api/reports', reportList);
  }

  account() {
    return this.#request('api/account', account);
  }

  async setLimits(limits: Allowance): Promise<void> {
    await this.#send('api/account/limits', { method: 'PUT', body: limits });
  }

  statement({ month }: StatementQuery) {
    return this.#request(`api/statement${queryText({ month })}`, statement);
  }

  receipt(receipt: string) {
    return this.#request(`api/receipts/${encodeURIComponent(receipt)}`, callLogEntry);
  }

  statistics(query: StatisticsQuery) {
    return this.#request(`api/statistics${queryText({ ...query })}`, statistics);
  }

  health() {
    return this.#request('api/health', hubHealth);
  }

  async close(): Promise<void> {
    this.#fetch.close();
  }

  async #request<Answer>(path: string, schema: z.ZodType<Answer>, options: SendOptions = {}): Promise<Answer> {
    const response = await this.#send(path, options);
    const { success, data } = schema.safeParse(await response.json().catch(() => undefined));
    if (!success) throw this.#unavailable('sent a response that is not from Agent3');
    return data;
  }

  async #follow(
    path: string,
    body: object,
    { signal, onProgress, timeoutMs = DEFAULT_CALL_TIMEOUT_MS }: CallOptions & { timeoutMs?: number | undefined },
  ): Promise<CallResponse> {
    const timeout = AbortSignal.timeout(timeoutMs + GRACE_MS);
    const end = signal ? AbortSignal.any([signal, timeout]) : timeout;
    const started = performance.now();
    try {
      const { body: lines } = await this.#send(path, { method: 'POST', body, accept: LINES, signal: end });
      for await (const line of linesOf(lines)) {
        const { data } = callLine.safeParse(parseJson(line));
        if (!data) break;
        if ('error' in data) throw this.#refused(data.error);
        if ('response' in data) return data.response;
        onProgress?.(data.progress);
      }
    } catch (error) {
      if (!signal?.aborted) throw error instanceof Agent3Error ? error : this.#unavailable(BROKE_OFF, error);
      // closing the connection cancels the call at the hub, too
      const responseTime = Math.round(performance.now() - started);
      return {
        success: false,
        error: 'The call was canceled.',
        errorCode: 'CANCELED',
        metadata: { responseTime, retryCount: 0 },
      };
    }
    throw this.#unavailable(BROKE_OFF);
  }

  async #send(
    path: string,
    { method, body, accept = 'application/json', via, ...options }: SendOptions,
  ): Promise<Response> {
    const { signal = AbortSignal.timeout(TIMEOUT_MS) } = options;
    const headers = {
      accept,
      ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
      ...(via ? { [VIA]: via.join(', ') } : {}),
      ...(body ? { 'content-type': 'application/json' } : {}),
    };
    const response = await this.#fetch(new URL(path, this.#base), {
      method: method ?? 'GET',
      headers,
      body: JSON.stringify(body),
      signal,
    }).catch((error) => {
      throw this.#unavailable('does not answer', error);
    });
    // an unhealthy hub reports its health with status 503
    if (response.ok || (response.status === 503 && path === 'api/health')) return response;
    if (response.status === 413)
      throw new Agent3Error(
        'INPUT_INVALID',
        `The request is too large for the hub at ${this.#base.host}: send less text, or fewer or smaller files`,
      );
    const { data } = failure.safeParse(await response.json().catch(() => undefined));
    if (!data) throw this.#unavailable(`answers with status ${response.status}`);
    throw this.#refused(data.error);
  }

  #refused({ code, message }: { code: string; message: string }): Agent3Error {
    if (code === 'UNAUTHORIZED')
      return new Agent3Error('FORBIDDEN', `The hub at ${this.#base.host} refused the token: set AGENT3_HUB_TOKEN`);
    const forwarded = forwardedCodes.find((candidate) => candidate === code);
    return forwarded ? new Agent3Error(forwarded, message) : this.#unavailable(`failed with ${code}`);
  }

  #unavailable(what: string, cause?: unknown): Agent3Error {
    return new Agent3Error('HUB_UNAVAILABLE', `The hub at ${this.#base.host} ${what}; check AGENT3_HUB_URL`, {
      cause,
    });
  }
}

function agentPath(agentId: string): string {
  return `api/agents/${encodeURIComponent(agentId)}`;
}

function queryText(parameters: Record<string, unknown>): string {
  const pairs = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return `?${new URLSearchParams(Object.fromEntries(pairs.map(([name, value]) => [name, String(value)])))}`;
}

async function* linesOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body ?? []) {
    const lines = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = lines.pop() ?? '';
    yield* lines;
  }
  if (rest !== '') yield rest;
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
