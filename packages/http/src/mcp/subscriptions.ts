// Streams of change notifications of the 2026 era, by client: one client can be told of a change that concerns only it.
import type { AuthInfo, McpHttpHandler } from '@modelcontextprotocol/server';
import { isRecord } from '@pocket-agent/kit';
import type { ParsedRequest } from './mcp-sessions.ts';
import { observed } from './observed-response.ts';

interface Listeners {
  handler: McpHttpHandler;
  /** Open streams. */
  open: number;
}

/** Resources that a client may watch. */
export interface WatchedResources {
  uris: readonly string[];
  /** Called when the client has stopped. */
  end(): void;
}

/** Chooses from the resources that a client subscribes to. */
export type WatchResources = (uris: readonly string[], auth: AuthInfo | undefined) => Promise<WatchedResources>;

export class Subscriptions {
  readonly #make: () => McpHttpHandler;
  readonly #watch: WatchResources | undefined;
  readonly #clients = new Map<string | undefined, Listeners>();

  /** `make` makes the handler of one client. */
  constructor(make: () => McpHttpHandler, watch?: WatchResources) {
    this.#make = make;
    this.#watch = watch;
  }

  /** Answers a request for a stream. */
  async serve(request: Request, parsed: ParsedRequest): Promise<Response> {
    const requested = this.#watch ? resourcesIn(parsed.parsedBody) : [];
    const watched = requested.length > 0 ? await this.#watch?.(requested, parsed.authInfo) : undefined;
    if (!watched) return this.#open(request, parsed, () => {});
    const parsedBody = withResources(parsed.parsedBody as SubscriptionRequest, watched.uris);
    return this.#open(request, { ...parsed, parsedBody }, () => watched.end());
  }

  async #open(request: Request, parsed: ParsedRequest, onClosed: () => void): Promise<Response> {
    const clientId = parsed.authInfo?.clientId;
    const listeners = this.#clients.get(clientId) ?? { handler: this.#make(), open: 0 };
    this.#clients.set(clientId, listeners);
    listeners.open++;
    const onEnd = () => {
      onClosed();
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
    const concerned = clientId === undefined ? [...this.#clients.values()] : [this.#clients.get(clientId)];
    for (const listeners of concerned) if (listeners) tell(listeners.handler);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map(({ handler }) => handler.close()));
  }
}

/** Whether a request of the 2026 era asks for such a stream. */
export function isSubscription(body: unknown): boolean {
  return typeof body === 'object' && body !== null && Reflect.get(body, 'method') === 'subscriptions/listen';
}

interface SubscriptionRequest {
  params: { notifications: { resourceSubscriptions: readonly string[] } };
}

function resourcesIn(body: unknown): string[] {
  const uris =
    isRecord(body) && isRecord(body.params) && isRecord(body.params.notifications)
      ? body.params.notifications.resourceSubscriptions
      : [];
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string') : [];
}

function withResources(body: SubscriptionRequest, resourceSubscriptions: readonly string[]): SubscriptionRequest {
  const notifications = { ...body.params.notifications, resourceSubscriptions };
  return { ...body, params: { ...body.params, notifications } };
}
