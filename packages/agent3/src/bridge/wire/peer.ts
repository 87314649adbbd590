// One agent, spoken to over HTTP: operations out, updates in, and every way an answer can be wrong told apart.
import { randomUUID } from 'node:crypto';
import { type HttpFetch, withCutStrings } from '@pocket-agent/http/fetch';
import { textFault } from '@pocket-agent/http/json-weight';
import { CallFailure, toFailure } from '../../base/call-failure.ts';
import { cleanLine, type Redactor } from '../../base/clean-text.ts';
import { isRecord, recordsIn, textIn } from '../../base/json.ts';
import type { TaskStateName } from '../../base/types.ts';
import type { Endpoint } from './endpoint.ts';
import { readEvents } from './event-stream.ts';
import { readTask, readUpdate } from './read-wire.ts';
import { readRetryAfter } from './retry.ts';
import type { Authorization, Task, Update } from './wire.ts';
import { type Operation, type OutgoingMessage, type WireRequest, writeRequest } from './write-wire.ts';

interface PeerOptions {
  endpoint: Endpoint;
  authorization: Authorization;
  /** URIs of the extensions in use. */
  extensions: readonly string[];
  fetch: HttpFetch;
  /** For answers that are too large for `fetch`, of which only the beginning of each string is read. */
  fetchLarge: HttpFetch;
  /** Knows what the agent is sent and may echo. */
  redactor: Redactor;
}

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

interface How {
  accept: string;
  signal: AbortSignal;
  fetch: Fetch;
}

/** Enough for ids and the name of a state. */
const MAX_STRING_LENGTH = 2_000;
const MAX_CUT_BYTES = 1_000_000;

const RPC = { taskNotFound: -32001, unsupported: -32004, contentType: -32005, version: -32009, noMethod: -32601 };
const rpcByReason: Record<string, number> = {
  TASK_NOT_FOUND: RPC.taskNotFound,
  UNSUPPORTED_OPERATION: RPC.unsupported,
  CONTENT_TYPE_NOT_SUPPORTED: RPC.contentType,
  VERSION_NOT_SUPPORTED: RPC.version,
};
const protocolErrors = [-32700, -32600, RPC.noMethod, RPC.version, -32008];

/** An agent that answers so has not begun; the same message may go another way. */
export function isUnsupported(failure: CallFailure): boolean {
  return failure.rpcCode === RPC.unsupported || failure.rpcCode === RPC.noMethod;
}

export class Peer {
  readonly #options: PeerOptions;
  #authorization: Authorization;
  /** Of the last answer. */
  statusCode: number | undefined;

  constructor(options: PeerOptions) {
    this.#options = options;
    this.#authorization = options.authorization;
  }

  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Update> {
    return readUpdate(await this.#ask({ name: 'send', message }, signal), this.#options.endpoint.dialect);
  }

  stream(message: OutgoingMessage, signal: AbortSignal): AsyncGenerator<Update> {
    return this.#listen({ name: 'stream', message }, signal);
  }

  async getTask(taskId: string, signal: AbortSignal): Promise<Task> {
    return readTask(await this.#ask({ name: 'get', taskId }, signal), this.#options.endpoint.dialect);
  }

  /** The state of a task that is too large to be read. */
  async getState(taskId: string, signal: AbortSignal): Promise<TaskStateName> {
    const { fetchLarge } = this.#options;
    const fetch = async (url: URL, init: RequestInit) =>
      withCutStrings(await fetchLarge(url, init), { maxStringBytes: MAX_STRING_LENGTH, maxBytes: MAX_CUT_BYTES });
    const { status } = readTask(
      await this.#ask({ name: 'get', taskId }, signal, fetch),
      this.#options.endpoint.dialect,
    );
    return status.state;
  }

  async cancelTask(taskId: string, signal: AbortSignal): Promise<Task> {
    return readTask(await this.#ask({ name: 'cancel', taskId }, signal), this.#options.endpoint.dialect);
  }

  subscribe(taskId: string, signal: AbortSignal): AsyncGenerator<Update> {
    return this.#listen({ name: 'subscribe', taskId }, signal);
  }

  async #ask(operation: Operation, signal: AbortSignal, fetch: Fetch = this.#options.fetch): Promise<unknown> {
    const id = randomUUID();
    try {
      const accept = 'application/json, application/a2a+json';
      const response = await this.#open(operation, { id, accept, signal, fetch });
      return this.#unwrap(await readJson(response), id);
    } catch (error) {
      throw toFailure(error);
    }
  }

  async *#listen(operation: Operation, signal: AbortSignal): AsyncGenerator<Update> {
    const id = randomUUID();
    const { dialect } = this.#options.endpoint;
    try {
      const { fetch } = this.#options;
      const response = await this.#open(operation, { id, accept: 'text/event-stream', signal, fetch });
      if (typeOf(response) !== 'text/event-stream') {
        yield readUpdate(this.#unwrap(await readJson(response), id), dialect);
        return;
      }
      if (!response.body) return;
      for await (const { type, data } of readEvents(response.body)) {
        const value = parse(data);
        if (type === 'error') throw this.#failureOf(errorIn(value), response.status);
        yield readUpdate(this.#unwrap(value, id), dialect);
      }
    } catch (error) {
      throw toFailure(error);
    }
  }

  /** An answer with a status of success. */
  async #open(operation: Operation, how: How & { id: string }): Promise<Response> {
    const request = writeRequest(this.#options.endpoint, operation, how.id);
    let response = await this.#fetch(request, how);
    if (response.status === 401 && this.#authorization.renew) {
      await response.body?.cancel();
      this.#authorization = await this.#authorization.renew(how.signal);
      response = await this.#fetch(request, how);
    }
    this.statusCode = response.status;
    if (!response.ok) throw await this.#refusal(response, operation);
    return response;
  }

  #fetch({ method, url, body }: WireRequest, how: How): Promise<Response> {
    const { endpoint, extensions } = this.#options;
    const { headers, query } = this.#authorization;
    let target = url;
    if (query.length > 0) {
      target = new URL(url);
      for (const [name, value] of query) target.searchParams.set(name, value);
    }
    const declared = extensions.length > 0 ? { [extensionHeader[endpoint.version]]: extensions.join(', ') } : {};
    return how.fetch(target, {
      method,
      body,
      signal: how.signal,
      headers: {
        ...headers,
        ...declared,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        accept: how.accept,
        'a2a-version': endpoint.version,
      },
    });
  }

  #unwrap(value: unknown, id: string): unknown {
    if (this.#options.endpoint.binding === 'HTTP+JSON') return value;
    if (!isRecord(value) || value.jsonrpc !== '2.0') throw notA2a('its answer is no JSON-RPC');
    if (isRecord(value.error)) throw this.#failureOf(value.error, this.statusCode);
    if (value.id !== id) throw notA2a('it answered another question than the one asked');
    return value.result;
  }

  async #refusal(response: Response, operation: Operation): Promise<CallFailure> {
    const { status } = response;
    const error = errorIn(await readAny(response));
    const retryAfterMs = readRetryAfter(response.headers.get('retry-after'));
    const details = { statusCode: status, retryAfterMs };
    if (status === 401 || status === 403)
      return this.#authorization.isSent
        ? new CallFailure('AUTH_FAILED', `it does not accept our credentials (${status}). Register others.`, details)
        : new CallFailure('AUTH_MISSING', this.#missing(status), details);
    if (status === 429) {
      const wait = retryAfterMs === undefined ? '' : ` Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
      return new CallFailure('RATE_LIMITED', `it has too many calls (429).${wait}`, { ...details, isUntouched: true });
    }
    if (status === 503)
      return new CallFailure('AGENT_ERROR', 'it is not available (503). Try again later.', {
        ...details,
        isUntouched: true,
      });
    if (status === 404 && 'taskId' in operation)
      return new CallFailure('TASK_UNKNOWN', 'it does not know this task any more (404).', details);
    if (error) return this.#failureOf(error, status);
    if (status >= 500)
      return new CallFailure('AGENT_ERROR', `it failed (${status}). Try again later, or another agent.`, details);
    if (status === 413) return new CallFailure('INPUT_INVALID', 'the message is too large for it (413).', details);
    return new CallFailure('PROTOCOL', `nothing speaks A2A where its card says (${status}).`, details);
  }

  #missing(status: number): string {
    const { unsent } = this.#authorization;
    if (unsent !== undefined) return `it wants credentials (${status}). The registered ones were not sent: ${unsent}.`;
    return `it wants credentials (${status}), and none are registered. Register the agent with some: agent3 register URL --token -, or credentials in agent3_register.`;
  }

  /** An error of A2A: JSON-RPC has its number as `code`, REST the HTTP status there and a reason in the details. */
  #failureOf(error: Record<string, unknown> | undefined, statusCode: number | undefined): CallFailure {
    const details = [...recordsIn(error?.details), ...recordsIn(error?.data)];
    const reasons = details.map(({ reason }) => rpcByReason[String(reason)]);
    const rpcCode = reasons.find((code) => code !== undefined) ?? (typeof error?.code === 'number' ? error.code : 0);
    const said = cleanLine(textIn(error?.message) ?? 'no reason given', 300, this.#options.redactor);
    const about = { statusCode, rpcCode };
    if (rpcCode === RPC.taskNotFound)
      return new CallFailure('TASK_UNKNOWN', 'it does not know this task any more.', about);
    if (rpcCode === RPC.contentType)
      return new CallFailure('INPUT_INVALID', `it does not take this kind of input. It says: ${said}`, about);
    if (protocolErrors.includes(rpcCode))
      return new CallFailure('PROTOCOL', `it does not speak what its card says (${rpcCode}). It says: ${said}`, about);
    return new CallFailure('AGENT_ERROR', `it answered with an error (${rpcCode}). It says: ${said}`, about);
  }
}

const extensionHeader = { '1.0': 'a2a-extensions', '0.3': 'x-a2a-extensions' } as const;

function typeOf(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

async function readJson(response: Response): Promise<unknown> {
  const type = typeOf(response);
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type)) {
    await response.body?.cancel();
    throw notA2a(`its answer is ${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'of no type'}, not JSON`);
  }
  return parse(await response.text());
}

/** The body of a refusal, which may be anything. */
async function readAny(response: Response): Promise<unknown> {
  const text = await response.text();
  try {
    return textFault(text) === undefined ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function parse(text: string): unknown {
  const fault = textFault(text);
  if (fault) throw new CallFailure('PROTOCOL', `it sent a message ${fault}.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new CallFailure('PROTOCOL', 'its answer is not valid JSON.', { cause: error });
  }
}

function notA2a(what: string): CallFailure {
  return new CallFailure('PROTOCOL', `${what}. Its card may be wrong: refresh it.`);
}

function errorIn(value: unknown): Record<string, unknown> | undefined {
  if (!isRecord(value)) return undefined;
  if (isRecord(value.error)) return value.error;
  return typeof value.code === 'number' && typeof value.message === 'string' ? value : undefined; // REST in 0.3
}
