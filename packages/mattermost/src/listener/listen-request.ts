// Listen requests of the 2026 protocol: the requested resources and the events sent to the client.
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import { objectOf } from '../base/json.ts';

export const LISTEN = 'subscriptions/listen';
const MAX_URIS_PER_REQUEST = 100;

/** The event bus of one listen request. */
export class ListenEvents implements ServerEventBus {
  onEnd: () => void = () => {};
  #listener: ((event: ServerEvent) => void) | undefined;

  get isUsed(): boolean {
    return this.#listener !== undefined;
  }

  publish(event: ServerEvent): void {
    this.#listener?.(event);
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    this.#listener = listener;
    return () => this.onEnd();
  }
}

/** Reduces the request to resources that may be watched; the response tells the client which ones. */
export async function keepGrantedUris(
  message: Record<string, unknown>,
  watch: (uri: string) => Promise<boolean>,
): Promise<unknown> {
  const params = objectOf(message.params);
  const notifications = objectOf(params.notifications);
  if (!Array.isArray(notifications.resourceSubscriptions)) return message;
  const resourceSubscriptions: string[] = [];
  for (const uri of requestedUris(message)) if (await watch(uri)) resourceSubscriptions.push(uri);
  return { ...message, params: { ...params, notifications: { ...notifications, resourceSubscriptions } } };
}

export function requestedUris(message: object): string[] {
  const uris = objectOf(objectOf(objectOf(message).params).notifications).resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MAX_URIS_PER_REQUEST) : [];
}
