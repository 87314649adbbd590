// MCP over streamable HTTP: calls of tools take a short way past the SDK's transport, which does everything else.
import {
  type FetchLike,
  type JSONRPCMessage,
  type JSONRPCRequest,
  PROTOCOL_VERSION_META_KEY,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { HttpResponse } from '@pocket-agent/http/fetch';
import { checkedMessage } from './message-lines.ts';

/** The error a call gets when its server went away in the middle of it: nobody knows whether the tool ran. */
export const STREAM_ENDED = -32_097;

interface HttpTransportOptions extends StreamableHTTPClientTransportOptions {
  fetch: FetchLike;
  requestInit: { headers: Record<string, string> };
}

interface Post {
  controller: AbortController;
  /** The SDK reads what is left of it. */
  isHandedOn: boolean;
}

/** A stream that is nothing but the answer, as servers send it that have nothing to say in between. */
const ONLY_EVENT = /^(?:event: message\r?\n)?data: (.*)\r?\n\r?\n$/;

/** Names that a header may hold as they are; others are encoded by the SDK. */
const PLAIN_NAME = /^[\w./-]+$/;

export class HttpTransport extends StreamableHTTPClientTransport {
  readonly #url: URL;
  readonly #options: HttpTransportOptions;
  readonly #unanswered = new Set<string | number>();
  /** What may still arrive for calls on the short way, broken off by `close`. */
  readonly #posts = new Map<unknown, Post>();
  /** Answers that are the SDK's business, by the body of the request it is about to send for them. */
  readonly #received: Map<string, Response>;
  /** Whoever brings tokens needs the SDK to look after them. */
  readonly #takesShortWay: boolean;

  constructor(url: URL, options: HttpTransportOptions) {
    const received = new Map<string, Response>();
    super(url, {
      ...options,
      fetch: async (to, init) => {
        const response = received.size > 0 ? received.get(String(init?.body)) : undefined;
        received.delete(String(init?.body));
        return response ?? options.fetch(to, init);
      },
    });
    this.#url = url;
    this.#options = options;
    this.#received = received;
    this.#takesShortWay = options.authProvider === undefined && !('accept' in options.requestInit.headers);
    // the SDK's Client calls a handler that was there before it as well
    this.onmessage = (message) => {
      if (!('method' in message) && message.id !== undefined) this.#unanswered.delete(message.id);
    };
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!('method' in message && 'id' in message)) {
      await super.send(message, options).finally(() => {
        if ('method' in message && message.method === 'notifications/cancelled')
          this.#giveUp(message.params?.requestId);
      });
      return;
    }
    const { id } = message;
    this.#unanswered.add(id);
    try {
      const headers = this.#takesShortWay && this.#headersOf(message, options);
      const left = headers ? await this.#post(message, headers, options?.requestSignal) : 'everything';
      if (left !== 'nothing')
        await super.send(message, { ...options, onRequestStreamEnd: () => this.#streamEnded(id, options) });
      if (left === 'nothing' || left === 'an answer') this.#ended(id);
    } catch (error) {
      this.#drop(id);
      throw error;
    }
  }

  override async close(): Promise<void> {
    for (const { controller } of this.#posts.values()) controller.abort();
    await super.close();
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

  /** Nobody waits for a call any longer, and its connection would stay open. Streams are the SDK's, which may resume them. */
  #giveUp(id: unknown): void {
    const post = this.#posts.get(id);
    if (!post || post.isHandedOn) return;
    post.controller.abort();
    this.#posts.delete(id);
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

  /** Nothing more is expected of a call. */
  #drop(id: string | number): void {
    this.#unanswered.delete(id);
    this.#posts.delete(id);
  }

  /** The signal is that of this one request, and goes away with it. */
  #startPost(id: string | number, signal: AbortSignal | undefined): AbortSignal {
    const controller = new AbortController();
    this.#posts.set(id, { controller, isHandedOn: false });
    signal?.addEventListener('abort', () => {
      controller.abort(signal.reason);
      this.#drop(id); // of a stream that was broken off the SDK tells nothing
    });
    return controller.signal;
  }

  /** Posts a call and reads an answer that comes in one piece. What is left is kept for the SDK. */
  async #post(
    message: JSONRPCRequest,
    headers: Record<string, string>,
    requestSignal: AbortSignal | undefined,
  ): Promise<'nothing' | 'an answer' | 'a stream'> {
    const signal = this.#startPost(message.id, requestSignal);
    const body = JSON.stringify(message);
    try {
      // where a redirect may lead is for the SDK to say
      const init = { method: 'POST', headers, body, signal, redirect: 'manual' } as const;
      const response = await this.#options.fetch(this.#url, init);
      const type = response.status === 200 ? contentType(response) : '';
      if (/^application\/json\s*(;|$)/i.test(type)) {
        const answer = await response.json();
        for (const message of Array.isArray(answer) ? answer : [answer]) this.onmessage?.(checkedMessage(message));
        return 'nothing';
      }
      const isStream = /^text\/event-stream\s*(;|$)/i.test(type);
      if (isStream && response instanceof HttpResponse && (await this.#isWhole(response, message.id))) return 'nothing';
      this.#received.set(body, response);
      const post = this.#posts.get(message.id);
      if (post) post.isHandedOn = true;
      return isStream ? 'a stream' : 'an answer';
    } catch (error) {
      if (!signal.aborted) this.onerror?.(error instanceof Error ? error : new Error(String(error)));
      throw error;
    }
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
