// MCP over streamable HTTP: the SDK's transport, with an error for every call whose response ends without an answer,
// with limits for floods, and with connections that end when their call is cancelled.
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  type FetchLike,
  type JSONRPCMessage,
  type JSONRPCNotification,
  type JSONRPCRequest,
  type RequestId,
  StreamableHTTPClientTransport,
  type StreamableHTTPClientTransportOptions,
  type TransportSendOptions,
} from '@modelcontextprotocol/client';
import { isEventStream, limitedResponse } from '@pocket-agent/http/fetch';
import { onAbort } from '@pocket-agent/kit';
import { PendingAnswers, scheduleReconnect } from './flood-limits.ts';
import { MAX_MESSAGE_BYTES } from './message-lines.ts';
import { answerIn } from './refused-call.ts';

/** The error code of a call whose response ended without an answer: the tool may or may not have run. */
export const STREAM_ENDED = -32_097;

interface HttpTransportOptions extends StreamableHTTPClientTransportOptions {
  fetch: FetchLike;
}

/** How long a server may take to accept a cancellation before the connection of the call is closed. */
const CANCEL_MS = 2_000;
/** How long a stream may stay open after the answer, for late notifications. */
const AFTER_ANSWER_MS = 1_000;

export class HttpTransport extends StreamableHTTPClientTransport {
  /** Ids of requests without an answer. */
  readonly #unanswered = new Set<unknown>();
  /** By id: requests whose response is still open, also after the answer. Aborting closes their connection. */
  readonly #open = new Map<unknown, { controller: AbortController; timer?: NodeJS.Timeout }>();
  readonly #answers = new PendingAnswers((error) => this.#closeFor(error));
  /** Why we ended the connection. */
  closeReason: Error | undefined;

  constructor(url: URL, options: HttpTransportOptions) {
    let closeFor: (error: Error) => void = () => {};
    super(url, {
      ...options,
      fetch: noteStreams(options.fetch, (error) => closeFor(error)),
      reconnectionScheduler: scheduleReconnect,
    });
    closeFor = (error) => this.#closeFor(error);
    // the SDK's Client also calls a handler that was set before its own
    this.onmessage = (message) => {
      if ('method' in message || message.id === undefined) return;
      this.#answered(message.id);
      this.#answered(Number(message.id)); // some servers return the id as a string
    };
  }

  override async send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!('method' in message)) return this.#answers.send(() => super.send(message, options));
    if (message.method === 'notifications/cancelled') return this.#sendCancelled(message, options);
    return 'id' in message ? this.#sendRequest(message, options) : super.send(message, options);
  }

  override async close(): Promise<void> {
    for (const { controller } of this.#open.values()) controller.abort();
    await super.close();
  }

  /** Opens the stream again on which a 2025 server sends notifications that belong to no request. */
  listenAgain(): Promise<void> {
    return this.resumeStream(''); // from no event: the tools are listed again anyway
  }

  async #sendRequest(message: JSONRPCRequest, options: TransportSendOptions = {}): Promise<void> {
    const { id } = message;
    const requestSignal = this.#start(id, options.requestSignal);
    const onRequestStreamEnd = () => {
      options.onRequestStreamEnd?.();
      this.#responseEnded(id);
    };
    const sending = { isStream: false };
    try {
      await sendings.run(sending, () => super.send(message, { ...options, requestSignal, onRequestStreamEnd }));
      if (!sending.isStream) this.#responseEnded(id);
    } catch (error) {
      this.#abort(id);
      const answer = answerIn(error, message);
      if (!answer) throw error;
      this.onmessage?.(answer);
    }
  }

  /** The signal of a request. In the 2026 era the SDK aborts the given one when the call is cancelled. */
  #start(id: RequestId, given: AbortSignal | undefined): AbortSignal {
    const controller = new AbortController();
    this.#unanswered.add(id);
    this.#open.set(id, { controller });
    // made for this request alone, so the listener needs no removal
    if (given) onAbort(given, () => this.#abort(id));
    return controller.signal;
  }

  /** Ends the stream of an answered request soon, since the server may leave it open. */
  #answered(id: unknown): void {
    const request = this.#unanswered.delete(id) ? this.#open.get(id) : undefined;
    if (request) request.timer = setTimeout(() => this.#abort(id), AFTER_ANSWER_MS).unref();
  }

  /** Tells the server first, and then closes the connection of the call, which the server may never do. */
  async #sendCancelled(message: JSONRPCNotification, options: TransportSendOptions | undefined): Promise<void> {
    try {
      await super.send(message, { ...options, requestSignal: AbortSignal.timeout(CANCEL_MS) });
    } finally {
      this.#abort(message.params?.requestId);
    }
  }

  /** Without this the SDK would wait until the timeout for an answer that can no longer arrive. */
  #responseEnded(id: RequestId): void {
    const isAnswered = !this.#unanswered.has(id);
    this.#forget(id);
    if (isAnswered) return;
    const error = { code: STREAM_ENDED, message: 'The response ended without an answer' };
    this.onmessage?.({ jsonrpc: '2.0', id, error });
  }

  /** The SDK knows the signal, so it does not open the stream again. */
  #abort(id: unknown): void {
    this.#open.get(id)?.controller.abort();
    this.#forget(id);
  }

  #forget(id: unknown): void {
    this.#unanswered.delete(id);
    clearTimeout(this.#open.get(id)?.timer);
    this.#open.delete(id);
  }

  /** Closes, as a child process is killed: the SDK would ask for the same response again. */
  #closeFor(error: Error): void {
    this.closeReason ??= error;
    this.close().catch(() => {}); // the connection is gone already
  }
}

/** The request that is being sent: the SDK does not report whether its response is a stream, which may stay open. */
const sendings = new AsyncLocalStorage<{ isStream: boolean }>();

function noteStreams(fetch: FetchLike, onTooLarge: (error: Error) => void): FetchLike {
  return async (url, init) => {
    const response = limitedResponse(await fetch(url, init), { maxBytes: MAX_MESSAGE_BYTES, onTooLarge });
    const sending = sendings.getStore();
    if (sending) sending.isStream = response.ok && isEventStream(response);
    return response;
  };
}
