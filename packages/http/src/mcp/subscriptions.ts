// Streams of change notifications of the 2026 era, by client: one client can be told of a change that concerns only it.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import { observed } from './observed-response.ts';

interface Listeners {
  handler: McpHttpHandler;
  /** Open streams. */
  open: number;
}

interface ParsedRequest {
  authInfo?: AuthInfo;
  parsedBody?: unknown;
}

export class Subscriptions {
  readonly #make: () => McpHttpHandler;
  readonly #clients = new Map<string | undefined, Listeners>();

  /** `make` makes the handler of one client. */
  constructor(make: () => McpHttpHandler) {
    this.#make = make;
  }

  /** Answers a request for a stream. */
  async serve(request: Request, parsed: ParsedRequest): Promise<Response> {
    const clientId = parsed.authInfo?.clientId;
    const listeners = this.#clients.get(clientId) ?? { handler: this.#make(), open: 0 };
    this.#clients.set(clientId, listeners);
    listeners.open++;
    const onEnd = () => {
      if (--listeners.open > 0) return;
      this.#clients.delete(clientId);
      void listeners.handler.close();
    };
    try {
      return observed(await listeners.handler.fetch(request, parsed), request.signal, { onEnd });
    } catch (error) {
      onEnd();
      throw error;
    }
  }

  /** Tells one client, or all. */
  publish(tell: (handler: McpHttpHandler) => void, clientId?: string): void {
    for (const [id, { handler }] of this.#clients) if (clientId === undefined || id === clientId) tell(handler);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(({ handler }) => handler.close()));
  }
}

/** Whether a request of the 2026 era asks for such a stream. */
export function isSubscription(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Reflect.get(body, 'method') === 'subscriptions/listen';
}
