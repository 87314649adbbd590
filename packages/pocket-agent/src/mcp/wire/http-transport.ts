// MCP over streamable HTTP: calls of tools take a short way past the SDK's transport, which does everything else.
import {
  type FetchLike,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { beginOf, HttpResponse, isEventStream, limitedResponse } from '@pocket-agent/http/fetch';
import { Cancellation } from './cancellation.ts';
import { checkedMessage, MOST_MESSAGE_BYTES } from './message-lines.ts';
import { limitedFetch, reconnectSoon, UnsentAnswers } from './server-flood.ts';

/** The error a call gets when its server went away in the middle of it: nobody knows whether the tool ran. */
export const STREAM_ENDED = -32_097;

interface HttpTransportOptions extends StreamableHTTPClientTransportOptions {
  fetch: FetchLike;
  requestInit: { headers: Record<string, string> };
}

/** An answer that is the SDK's business, which it asks for by sending the same request. */
interface KeptAnswer {
  /** Of the request that was sent. */
  body: string;
  response: Response;
}

interface SendOptions extends TransportSendOptions {
  /** In place of `requestSignal`, by `CallingClient`. */
  cancellation?: Cancellation;
}

interface Post {
  message: JSONRPCRequest;
  headers: Record<string, string>;
  ending: Cancellation;
}

/** A stream that is nothing but the answer, as servers send it that have nothing to say in between. */
const ONLY_EVENT = /^(?:event: message\r?\n)?data: (.*)\r?\n\r?\n$/;

/** Names that a header may hold as they are; others are encoded by the SDK. */
const PLAIN_NAME = /^[\w./-]+$/;

/** So long a server may take to hear of a call that was given up, before its connection ends. */
const CANCEL_MS = 2_000;

export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #url: URL;
  readonly #options: HttpTransportOptions;
  readonly #unanswered = new Set<unknown>();
  /** Requests of which something may still arrive, by their ids: what ends them. */
  readonly #open = new Map<unknown, Cancellation>();
  readonly #kept: Map<unknown, KeptAnswer>;
  /** Why it was ended in the middle of what the server sent. */
  brokenOff: Error | undefined;
  readonly #answers = new UnsentAnswers((error) => this.#breakOff(error));
  /** Whoever brings tokens needs the SDK to look after them. */
  readonly #takesShortWay: boolean;

  constructor(url: URL, options: HttpTransportOptions) {
    const kept = new Map<unknown, KeptAnswer>();
    let breakOff: (error: Error) => void = () => {};
    const send: FetchLike = async (to, init) =>
      (kept.size > 0 ? take(kept, init?.body) : undefined) ?? options.fetch(to, init);
    super(url, {
      ...options,
      fetch: limitedFetch(send, (error) => breakOff(error)),
      reconnectionScheduler: reconnectSoon,
    });
    breakOff = (error) => this.#breakOff(error);
    this.#url = url;
    this.#options = options;
    this.#kept = kept;
    this.#takesShortWay = options.authProvider === undefined && !('accept' in options.requestInit.headers);
    // the SDK's Client calls a handler that was there before it as well
    this.onmessage = (message) => {
      if ('method' in message || message.id === undefined) return;
      this.#unanswered.delete(message.id);
      this.#unanswered.delete(Number(message.id)); // some servers write the number of a request as text
    };
  }

  override async send(message: JSONRPCMessage, options?: SendOptions): Promise<void> {
    if (!('method' in message)) return this.#answers.send(() => super.send(message, options));
    if (message.method === 'notifications/cancelled') return this.#cancel(message, options);
    if (!('id' in message)) return super.send(message, options);
    const { id } = message;
    const ending = this.#begin(id, options);
    try {
      const headers = this.#takesShortWay && this.#headersOf(message, options);
      const left = headers ? await this.#post({ message, headers, ending }) : 'everything';
      if (left !== 'nothing') {
        const onRequestStreamEnd = () => this.#streamEnded(id, options);
        await super.send(message, { ...options, requestSignal: ending.signal, onRequestStreamEnd });
      }
      if (left === 'nothing' || left === 'an answer') this.#ended(id);
      else if (left === 'everything' && !this.#unanswered.has(id)) this.#drop(id);
    } catch (error) {
      this.#giveUp(id);
      throw error;
    } finally {
      this.#kept.delete(id);
    }
  }

  override async close(): Promise<void> {
    for (const ending of this.#open.values()) ending.cancel();
    await super.close();
  }

  /** Opens the stream again on which a server of 2025 tells what belongs to no request. */
  listenAgain(): Promise<void> {
    return this.resumeStream(''); // as of no event: what was missed meanwhile is read anew
  }

  /** As a child that says too much is ended: the SDK would ask for the same again. */
  #breakOff(error: Error): void {
    this.brokenOff ??= error;
    this.close().catch(() => {}); // it is broken already
  }

  /** The server hears of it first; then the connection of the call ends, which the server may never have done. */
  async #cancel(message: JSONRPCNotification, options: TransportSendOptions | undefined): Promise<void> {
    try {
      await super.send(message, { ...options, requestSignal: AbortSignal.timeout(CANCEL_MS) });
    } finally {
      this.#giveUp(message.params?.requestId);
    }
  }

  /** The SDK would wait for ever for a request whose response stream ended without an answer. */
  #streamEnded(id: string | number, options: TransportSendOptions | undefined): void {
    options?.onRequestStreamEnd?.();
    this.#ended(id);
  }

  #ended(id: string | number): void {
    const isAnswered = !this.#unanswered.has(id);
    this.#drop(id);
    if (isAnswered) return;
    const error = { code: STREAM_ENDED, message: 'The response ended without an answer' };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  /** Nobody waits for it any longer. The SDK, which knows the signal, does not take up its stream again. */
  #giveUp(id: unknown): void {
    this.#open.get(id)?.cancel();
    this.#drop(id);
  }

  /** What the SDK would send with a call; undefined where it takes more than this. */
  #headersOf(
    { method, params }: JSONRPCRequest,
    options: TransportSendOptions | undefined,
  ): Record<string, string> | undefined {
    if (method !== 'tools/call' || options?.headers || options?.resumptionToken) return undefined;
    const name = String(params?.name);
    if (!PLAIN_NAME.test(name)) return undefined;
    const { sessionId } = this;
    // in the 2026 era every request says which version it is in
    const own = params?._meta?.[PROTOCOL_VERSION_META_KEY];
    const version = typeof own === 'string' ? own : this.protocolVersion;
    return {
      ...this.#options.requestInit.headers,
      ...(sessionId ? { 'mcp-session-id': sessionId } : {}),
      ...(version ? { 'mcp-protocol-version': version } : {}),
      ...(own === undefined ? {} : { 'mcp-method': method, 'mcp-name': name }),
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    };
  }

  /** Nothing more is expected of a request. */
  #drop(id: unknown): void {
    this.#unanswered.delete(id);
    this.#open.delete(id);
  }

  /** The signal that is given is that of one request, or of the call it is made for, and goes away with that. */
  #begin(id: string | number, { cancellation, requestSignal }: SendOptions = {}): Cancellation {
    const ending = new Cancellation();
    this.#unanswered.add(id);
    this.#open.set(id, ending);
    const given = cancellation ?? (requestSignal && Cancellation.by(requestSignal));
    given?.onCancel((reason) => {
      ending.cancel(reason);
      this.#drop(id); // of a stream that was broken off the SDK tells nothing
    });
    return ending;
  }

  /** Posts a call and reads an answer that comes in one piece. What is left is kept for the SDK. */
  async #post({ message, headers, ending }: Post): Promise<'nothing' | 'an answer' | 'a stream'> {
    const body = JSON.stringify(message);
    try {
      // where a redirect may lead is for the SDK to say
      const init = { method: 'POST', headers, body, redirect: 'manual' } as const;
      const response = await this.#fetch(init, ending);
      const type = response.status === 200 ? contentType(response) : '';
      if (/^application\/json\s*(;|$)/i.test(type)) {
        const answer = await limitedResponse(response, {
          mostBytes: MOST_MESSAGE_BYTES,
          onTooLarge: (error) => this.#breakOff(error),
        }).json();
        for (const message of Array.isArray(answer) ? answer : [answer]) this.onmessage?.(checkedMessage(message));
        return 'nothing';
      }
      const isStream = response.status === 200 && isEventStream(response);
      if (isStream && response instanceof HttpResponse && (await this.#isWhole(response, message.id))) return 'nothing';
      this.#kept.set(message.id, { body, response });
      return isStream ? 'a stream' : 'an answer';
    } catch (error) {
      if (!ending.isCancelled) this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
  }

  #fetch(init: RequestInit, ending: Cancellation): Promise<Response> {
    const { fetch } = this.#options;
    const begin = beginOf(fetch);
    if (!begin) return fetch(this.#url, { ...init, signal: ending.signal });
    const begun = begin(this.#url, init);
    ending.onCancel((reason) => begun.end(reason));
    return begun.response;
  }

  /** Whether a stream was its answer and nothing else. One that goes on the SDK reads from the beginning. */
  async #isWhole(response: HttpResponse, id: string | number): Promise<boolean> {
    const begun = await response.begun();
    const data = ONLY_EVENT.exec(Buffer.from(begun).toString())?.[1];
    const answer = data === undefined ? undefined : parsed(data);
    if (!isAnswerTo(id, answer)) return false;
    this.onmessage?.(checkedMessage(answer));
    return (await response.begun(begun.length)).length === begun.length;
  }
}

/** Undefined for a request that is the SDK's own. What was answered is not sent again, for the tool would run twice. */
function take(kept: Map<unknown, KeptAnswer>, body: unknown): Response | undefined {
  const request = typeof body === 'string' ? parsed(body) : undefined;
  const id = typeof request === 'object' && request !== null && 'id' in request ? request.id : undefined;
  const answer = kept.get(id);
  if (!answer) return undefined;
  kept.delete(id);
  if (answer.body !== body) throw new Error(`Request ${id} is not the one that was sent and answered under this id`);
  return answer.response;
}

function contentType(response: Response): string {
  return (response instanceof HttpResponse ? response.contentType : response.headers.get('content-type')) ?? '';
}

/** Undefined for what is no JSON, which the SDK reports. */
function parsed(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

function isAnswerTo(id: string | number, message: unknown): boolean {
  return (
    typeof message === 'object' && message !== null && 'id' in message && message.id === id && !('method' in message)
  );
}
