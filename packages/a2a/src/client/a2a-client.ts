// The A2A client: sends requests to one agent over HTTP and reads its answers, in A2A 1.0 and 0.3, JSON-RPC and REST.
import { textFault } from '@pocket-agent/http/json-weight';
import { isRecord, loadTelemetry, nonEmptyString, recordsIn, retryAfterHeader, traceHeaders } from '@pocket-agent/kit';
import type { Task, Update } from '../wire/task.ts';
import { A2aError, explainFetchError } from './a2a-error.ts';
import type { Endpoint } from './endpoint.ts';
import { readEvents } from './event-reader.ts';
import { readTask, readUpdate } from './read-json.ts';
import { type Operation, type OutgoingMessage, type WireRequest, writeRequest } from './write-request.ts';

/** The credentials of requests to one agent. */
export interface Authorization {
  headers: Readonly<Record<string, string>>;
  query?: readonly (readonly [string, string])[];
  /** New credentials after a 401; tried once per request. */
  renew?(signal: AbortSignal): Promise<Authorization>;
  /** The error for a status of 401 or 403. */
  refused(status: number, headers: Headers): Error;
}

/** The options of a client for one agent. */
export interface A2aClientOptions {
  endpoint: Endpoint;
  authorization: Authorization;
  /** URIs of the A2A extensions in use. */
  extensions?: readonly string[];
  /** Guards addresses, and limits the size of answers. It must not follow redirects, because their targets would get the credentials. */
  fetch: A2aFetch;
  /** Sanitizes agent text for error messages. */
  clean(text: string): string;
}

/** The `fetch` that a client sends with. */
export type A2aFetch = (url: URL, init: RequestInit) => Promise<Response>;

interface Exchange {
  accept: string;
  signal: AbortSignal;
  fetch: A2aFetch;
  /** The id of a JSON-RPC request. */
  id: number;
}

const RPC = { taskNotFound: -32001, unsupported: -32004, contentType: -32005, version: -32009, noMethod: -32601 };
const rpcByReason: Record<string, number> = {
  TASK_NOT_FOUND: RPC.taskNotFound,
  UNSUPPORTED_OPERATION: RPC.unsupported,
  CONTENT_TYPE_NOT_SUPPORTED: RPC.contentType,
  VERSION_NOT_SUPPORTED: RPC.version,
};
const protocolErrors = [-32700, -32600, RPC.noMethod, RPC.version, -32008];
const extensionHeader = { '1.0': 'a2a-extensions', '0.3': 'x-a2a-extensions' } as const;

/** Whether the agent lacks the requested operation, so that it has not started to work. */
export function isUnsupported({ rpcCode }: { rpcCode?: number | undefined }): boolean {
  return rpcCode === RPC.unsupported || rpcCode === RPC.noMethod;
}

/** A client for one agent. Methods throw `A2aError`, the error of `Authorization.refused`, or the reason of the signal. */
export class A2aClient {
  readonly #options: A2aClientOptions;
  #authorization: Authorization;
  #lastId = 0;

  constructor(options: A2aClientOptions) {
    this.#options = options;
    this.#authorization = options.authorization;
  }

  /** Sends a message, as a stream if `streams` is true and the agent supports it. `rest` has the updates after the first. */
  async start(
    message: OutgoingMessage,
    { streams, signal }: { streams: boolean; signal: AbortSignal },
  ): Promise<{ first: Update; rest?: AsyncGenerator<Update> }> {
    if (streams) {
      const rest = this.#listen({ name: 'stream', message }, signal);
      try {
        const { value, done } = await rest.next();
        if (!done) return { first: value, rest };
        throw new A2aError('UNREACHABLE', 'it closed the stream without an answer.');
      } catch (error) {
        // cards may declare more than the agent supports
        if (!(error instanceof A2aError && isUnsupported(error))) throw error;
      }
    }
    return { first: await this.send(message, signal) };
  }

  /** Returns as soon as the agent has created a task. */
  async send(message: OutgoingMessage, signal: AbortSignal): Promise<Update> {
    return readUpdate(await this.#request({ name: 'send', message }, signal), this.#options.endpoint.dialect);
  }

  /** `fetch` replaces the one of the options, for example to read a larger answer. */
  async getTask(taskId: string, signal: AbortSignal, fetch?: A2aFetch): Promise<Task> {
    return readTask(await this.#request({ name: 'get', taskId }, signal, fetch), this.#options.endpoint.dialect);
  }

  async cancelTask(taskId: string, signal: AbortSignal): Promise<Task> {
    return readTask(await this.#request({ name: 'cancel', taskId }, signal), this.#options.endpoint.dialect);
  }

  subscribe(taskId: string, signal: AbortSignal): AsyncGenerator<Update> {
    return this.#listen({ name: 'subscribe', taskId }, signal);
  }

  async #request(operation: Operation, signal: AbortSignal, fetch = this.#options.fetch): Promise<unknown> {
    const id = ++this.#lastId;
    try {
      const accept = 'application/json, application/a2a+json';
      const response = await this.#open(operation, { id, accept, signal, fetch });
      return this.#unwrap(await readJson(response), { id, statusCode: response.status });
    } catch (error) {
      throw explainFetchError(error);
    }
  }

  async *#listen(operation: Operation, signal: AbortSignal): AsyncGenerator<Update> {
    const id = ++this.#lastId;
    const { endpoint, fetch } = this.#options;
    try {
      const response = await this.#open(operation, { id, accept: 'text/event-stream', signal, fetch });
      const about = { id, statusCode: response.status };
      if (typeOf(response) !== 'text/event-stream') {
        yield readUpdate(this.#unwrap(await readJson(response), about), endpoint.dialect);
        return;
      }
      if (!response.body) return;
      for await (const { type, data } of readEvents(response.body)) {
        const value = parse(data);
        if (type === 'error') throw this.#errorOf(errorIn(value), response.status);
        yield readUpdate(this.#unwrap(value, about), endpoint.dialect);
      }
    } catch (error) {
      throw explainFetchError(error);
    }
  }

  /** Returns a response with a 2xx status. */
  async #open(operation: Operation, exchange: Exchange): Promise<Response> {
    const request = writeRequest(this.#options.endpoint, operation, exchange.id);
    let response = await this.#fetch(request, exchange);
    if (response.status === 401 && this.#authorization.renew) {
      await response.body?.cancel();
      this.#authorization = await this.#authorization.renew(exchange.signal);
      response = await this.#fetch(request, exchange);
    }
    if (!response.ok) throw await this.#refusal(response, operation);
    return response;
  }

  async #fetch({ method, url, body }: WireRequest, { accept, signal, fetch }: Exchange): Promise<Response> {
    await loadTelemetry();
    const { endpoint, extensions = [] } = this.#options;
    const { headers, query = [] } = this.#authorization;
    const target = new URL(url);
    for (const [name, value] of query) target.searchParams.set(name, value);
    const declared = extensions.length > 0 ? { [extensionHeader[endpoint.version]]: extensions.join(', ') } : {};
    return fetch(target, {
      method,
      body,
      signal,
      headers: {
        ...traceContext(),
        ...headers,
        ...declared,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        accept,
        'a2a-version': endpoint.version,
      },
    });
  }

  #unwrap(value: unknown, { id, statusCode }: { id: number; statusCode: number }): unknown {
    if (this.#options.endpoint.binding === 'HTTP+JSON') return value;
    if (!isRecord(value) || value.jsonrpc !== '2.0') throw notA2a('its answer is not JSON-RPC');
    if (isRecord(value.error)) throw this.#errorOf(value.error, statusCode);
    if (value.id !== id) throw notA2a('its answer belongs to another request');
    return value.result;
  }

  async #refusal(response: Response, operation: Operation): Promise<Error> {
    const { status, headers } = response;
    const error = errorIn(await readAny(response));
    if (status === 401 || status === 403) return this.#authorization.refused(status, headers);
    const retryAfterMs = retryAfterHeader(Object.fromEntries(headers));
    const details = { statusCode: status, retryAfterMs };
    if (status === 429) {
      const wait = retryAfterMs === undefined ? '' : ` Try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
      return new A2aError('RATE_LIMITED', `it receives too many calls (429).${wait}`, {
        ...details,
        isNotStarted: true,
      });
    }
    if (status === 503)
      return new A2aError('AGENT_ERROR', 'it is not available (503). Try again later.', {
        ...details,
        isNotStarted: true,
      });
    if (status === 404 && 'taskId' in operation)
      return new A2aError('TASK_UNKNOWN', 'it no longer knows this task (404).', details);
    if (error) return this.#errorOf(error, status);
    if (status >= 500)
      return new A2aError('AGENT_ERROR', `it failed (${status}). Try again later, or another agent.`, details);
    if (status === 413) return new A2aError('INPUT_INVALID', 'the message is too large for it (413).', details);
    return new A2aError('PROTOCOL', `there is no A2A server at the address in its card (${status}).`, details);
  }

  /** JSON-RPC errors have their number in `code`; REST errors have the HTTP status there and a reason in the details. */
  #errorOf(error: Record<string, unknown> | undefined, statusCode: number): A2aError {
    const details = [...recordsIn(error?.details), ...recordsIn(error?.data)];
    const reasons = details.map(({ reason }) => rpcByReason[String(reason)]);
    const rpcCode = reasons.find((code) => code !== undefined) ?? (typeof error?.code === 'number' ? error.code : 0);
    const reason = this.#options.clean(nonEmptyString(error?.message) ?? 'no reason given');
    const about = { statusCode, rpcCode };
    if (rpcCode === RPC.taskNotFound) return new A2aError('TASK_UNKNOWN', 'it no longer knows this task.', about);
    if (rpcCode === RPC.contentType)
      return new A2aError('INPUT_INVALID', `it does not accept this kind of input: ${reason}`, about);
    if (protocolErrors.includes(rpcCode))
      return new A2aError('PROTOCOL', `it does not support what its card declares (${rpcCode}): ${reason}`, about);
    return new A2aError('AGENT_ERROR', `it answered with an error (${rpcCode}): ${reason}`, about);
  }
}

/** Without baggage, which may contain private data. */
function traceContext(): Record<string, string> {
  const { traceparent, tracestate } = traceHeaders();
  return { ...(traceparent ? { traceparent } : {}), ...(tracestate ? { tracestate } : {}) };
}

function typeOf(response: Response): string {
  return (response.headers.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

async function readJson(response: Response): Promise<unknown> {
  const type = typeOf(response);
  if (!/^application\/(?:[\w.-]+\+)?json$/.test(type)) {
    await response.body?.cancel();
    throw notA2a(`its answer is ${/^[\w.+-]+\/[\w.+-]+$/.test(type) ? type : 'of an unknown type'}, not JSON`);
  }
  return parse(await response.text());
}

/** The body of an error response, which may be anything. */
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
  if (fault) throw new A2aError('PROTOCOL', `it sent a message ${fault}.`);
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new A2aError('PROTOCOL', 'its answer is not valid JSON.', { cause: error });
  }
}

function notA2a(what: string): A2aError {
  return new A2aError('PROTOCOL', `${what}. Its card may be wrong or out of date.`);
}

function errorIn(value: unknown): Record<string, unknown> | undefined {
  if (!isRecord(value)) return undefined;
  if (isRecord(value.error)) return value.error;
  return typeof value.code === 'number' && typeof value.message === 'string' ? value : undefined; // REST in 0.3
}
