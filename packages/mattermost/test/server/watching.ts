// Clients that watch channels, and what the fake Mattermost sees of it.
import type { Client } from '@modelcontextprotocol/client';
import { expect } from 'vitest';
import type { Era } from '../connect.ts';
import type { FakeMattermost } from '../fake/fake-mattermost.ts';

/** Waits for something to become true, however busy the machine is. */
const until = <Value>(read: () => Value) => expect.poll(read, { interval: 10 });

export const uriOf = (fake: FakeMattermost, channel: string) => `mattermost://channel/${fake.channel(channel).id}`;

export interface Watching {
  client: Client;
  /** Every update, by URI. */
  updates: string[];
  subscribe(uri: string): Promise<() => Promise<void>>;
}

/** A client that subscribes as its era does. */
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

/** How often a channel was asked what had been missed in it. */
export const caughtUp = (fake: FakeMattermost) =>
  fake.requests.filter(({ query, status }) => 'since' in query && status === 200).length;

/** Open, and done with asking what was missed before, which is nothing: then it looks at the newest post as well. */
export async function listening(fake: FakeMattermost): Promise<void> {
  const isLookedAt = () => fake.requests.some(({ query, status }) => query.per_page === '1' && status === 200);
  await until(() => caughtUp(fake) > 0 && isLookedAt()).toBe(true);
}

export async function open(fake: FakeMattermost, count = 1): Promise<void> {
  await until(() => fake.socketCount).toBe(count);
}
