// MCP over the SSE transport of 2024, which some servers still speak.
import {
  type FetchLike,
  type JSONRPCMessage,
  SSEClientTransport,
  type SSEClientTransportOptions,
  SseError,
} from '@modelcontextprotocol/client';
import { limitedFetch, PendingAnswers } from './flood-limits.ts';

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
    await ('method' in message ? super.send(message) : this.#answers.send(() => super.send(message)));
  }

  override async start(): Promise<void> {
    await super.start();
    this.#started = true;
  }

  #closeBroken(): void {
    this.close().catch(() => {}); // the connection is gone already
  }
}
