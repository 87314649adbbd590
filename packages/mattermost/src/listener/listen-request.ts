// A request of the 2026 era to listen: what it asks for, and the events that go to it.
import type { ServerEvent, ServerEventBus } from '@modelcontextprotocol/server';
import { isObject } from '../base/json.ts';

export const LISTEN = 'subscriptions/listen';
const MOST_PER_REQUEST = 100;

/** The events of one listening client. */
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

/** The request with only those resources that may be watched; the client is told which those are. */
export async function honoredPart(
  message: Record<string, unknown>,
  watch: (uri: string) => Promise<boolean>,
): Promise<unknown> {
  const params = objectOf(message.params);
  const notifications = objectOf(params?.notifications);
  if (!Array.isArray(notifications?.resourceSubscriptions)) return message;
  const resourceSubscriptions: string[] = [];
  for (const uri of urisOf(message)) if (await watch(uri)) resourceSubscriptions.push(uri);
  return { ...message, params: { ...params, notifications: { ...notifications, resourceSubscriptions } } };
}

export function urisOf(message: object): string[] {
  const uris = objectOf(objectOf(objectOf(message)?.params)?.notifications)?.resourceSubscriptions;
  return Array.isArray(uris) ? uris.filter((uri) => typeof uri === 'string').slice(0, MOST_PER_REQUEST) : [];
}

function objectOf(value: unknown): Record<string, unknown> | undefined {
  return isObject(value) ? value : undefined;
}
