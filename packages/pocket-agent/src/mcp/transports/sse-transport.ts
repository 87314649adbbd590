// MCP over the SSE transport of 2024, which some servers still speak.
import {
  type FetchLike,
  type JSONRPCMessage,
  SdkErrorCode,
  SdkHttpError,
  SSEClientTransport,
  type SSEClientTransportOptions,
  SseError,
} from '@modelcontextprotocol/client';
import { limitedFetch, PendingAnswers } from './flood-limits.ts';
import { answerIn } from './refused-call.ts';

/** Closes when its stream breaks. The SDK would open another one, on which the server does not know our session. */
export class SseTransport extends SSEClientTransport {
  #started = false;
  readonly #answers: PendingAnswers;
  /** Why we ended the connection. */
  closeReason: Error | undefined;

  constructor(url: URL, options: SSEClientTransportOptions & { fetch: FetchLike }) {
    let closeFor: (error: Error) => void = () => {};
    super(url, { ...options, fetch: limitedFetch(options.fetch, (error) => closeFor(error)) });
    closeFor = (error) => {
      this.closeReason ??= error;
      this.#closeBroken();
    };
    this.#answers = new PendingAnswers(closeFor);
    this.onerror = (error) => {
      if (this.#started && error instanceof SseError) this.#closeBroken();
    };
  }

  override async send(message: JSONRPCMessage): Promise<void> {
    if (!('method' in message)) return this.#answers.send(() => super.send(message));
    try {
      await super.send(message);
    } catch (cause) {
      const error = httpError(cause);
      const answer = answerIn(error, message);
      if (!answer) throw error;
      this.onmessage?.(answer);
    }
  }

  override async start(): Promise<void> {
    await super.start();
    this.#started = true;
  }

  #closeBroken(): void {
    this.close().catch(() => {}); // the connection is gone already
  }
}

/** A request that the server refused although the stream is open, with the data of an error of streamable HTTP. */
export class SseRequestError extends SdkHttpError {}

/** Over SSE the SDK puts the status only into the text. */
function httpError(error: unknown): unknown {
  const message = error instanceof Error ? error.message : '';
  const [, status, text] = /^Error POSTing to endpoint \(HTTP (\d+)\): (.*)$/s.exec(message) ?? [];
  if (status === undefined) return error;
  const data = { status: Number(status), statusText: '', text };
  return new SseRequestError(SdkErrorCode.ClientHttpNotImplemented, message, data, { cause: error });
}
