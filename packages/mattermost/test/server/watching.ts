// Helpers for clients that watch channels.
import type { Client } from '@modelcontextprotocol/client';
import type { Era } from '../connect.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';
import { until } from '../until.ts';

export const uriOf = (fake: FakeMattermost, channel: string) => `mattermost://channel/${fake.channel(channel).id}`;

export interface Watching {
  client: Client;
  /** URIs of all updates. */
  updates: string[];
  subscribe(uri: string): Promise<() => Promise<void>>;
}

/** Connects a client that subscribes in the way of its protocol version. */
export function watching(client: Client, era: Era): Watching {
  const updates: string[] = [];
  client.setNotificationHandler('notifications/resources/updated', ({ params }) => {
    updates.push(params.uri);
  });
  return {
    client,
    updates,
    async subscribe(uri) {
      if (era === '2026') {
        const subscription = await client.listen({ resourceSubscriptions: [uri] });
        return () => subscription.close();
      }
      await client.subscribeResource({ uri });
      return async () => {
        await client.unsubscribeResource({ uri });
      };
    },
  };
}

/** Number of catch-up requests for a channel. */
export const caughtUp = (fake: FakeMattermost) =>
  fake.requests.filter(({ query, status }) => 'since' in query && status === 200).length;

/** Waits until the socket is open and its first catch-up is complete, which ends with a request for the newest post. */
export async function listening(fake: FakeMattermost): Promise<void> {
  const isLookedAt = () => fake.requests.some(({ query, status }) => query.per_page === '1' && status === 200);
  await until(() => caughtUp(fake) > 0 && isLookedAt()).toBe(true);
}

export async function open(fake: FakeMattermost, count = 1): Promise<void> {
  await until(() => fake.socketCount).toBe(count);
}
