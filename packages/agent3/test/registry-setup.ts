// Registries on real files, and servers that hand out cards, closed after each test.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import { openStore, type Store } from '@pocket-agent/store';
import type { Transaction } from 'kysely';
import { expect } from 'vitest';
import { migrations } from '../src/registry/migrations.ts';
import { openRegistry, type Registry, type RegistryOptions } from '../src/registry/registry.ts';
import type { RegistrySchema } from '../src/registry/schema.ts';
import type { CallRecord, CardJson } from '../src/types.ts';
import { v1Card } from './registry-cards.ts';

export const alice = { id: 'alice' };
export const bob = { id: 'bob' };
export const admin = { id: 'root', isAdmin: true };

export class Setup {
  readonly #ends: (() => unknown)[] = [];
  #folder: Promise<string> | undefined;

  /** On one and the same file unless another place is given; nothing happens by itself. */
  async registry(options: Partial<RegistryOptions> = {}): Promise<Registry> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'agent3-registry-'));
    const allowHosts = ['127.0.0.1'];
    const registry = await openRegistry({
      ...(options.url === undefined ? { file: join(await this.#folder, 'registry.db') } : {}),
      fetch: this.fetch({ allowHosts }),
      allowHosts,
      healthChecks: false,
      ...options,
    });
    this.#ends.push(() => registry.close());
    return registry;
  }

  fetch(options: Parameters<typeof makeFetch>[0]): HttpFetch {
    const fetch = makeFetch(options);
    this.#ends.push(() => fetch.close());
    return fetch;
  }

  async serve(listener: RequestListener): Promise<string> {
    const server: Server = createServer(listener).listen(0, '127.0.0.1');
    await once(server, 'listening');
    this.#ends.push(async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Another connection to the file of the registries. */
  async store(): Promise<Store<RegistrySchema>> {
    const file = join(await this.folder(), 'registry.db');
    const store = await openStore<RegistrySchema>({ file, name: 'agent3', migrations });
    this.#ends.push(() => store.close());
    return store;
  }

  /** Of something that reads and then writes: what another writer does comes between the two. */
  async between<Value>(
    begin: () => Promise<Value>,
    change: (transaction: Transaction<RegistrySchema>) => Promise<unknown>,
  ): Promise<Value> {
    const { db } = await this.store();
    const begun = await db.transaction().execute(async (transaction) => {
      const ended = begin();
      await turn(); // by then it has read, and waits for this transaction to end
      await change(transaction);
      return { ended };
    });
    return begun.ended;
  }

  async folder(): Promise<string> {
    this.#folder ??= mkdtemp(join(tmpdir(), 'agent3-registry-'));
    return this.#folder;
  }

  async end(): Promise<void> {
    for (const end of this.#ends.splice(0).reverse()) await end();
    if (this.#folder) await rm(await this.#folder, { recursive: true, force: true });
    this.#folder = undefined;
  }
}

/** A server of one card that can be changed, with what it was asked. */
export class CardServer {
  card: CardJson | string;
  status = 200;
  headers: Record<string, string> = {};
  etag: string | undefined;
  files: Record<string, unknown> = {};
  readonly requests: IncomingMessage[] = [];
  readonly #waiting: { count: number; resolve: () => void }[] = [];

  constructor(card: CardJson | string) {
    this.card = card;
  }

  readonly listener: RequestListener = (request, response) => {
    this.requests.push(request);
    for (const { count, resolve } of this.#waiting) if (this.requests.length >= count) resolve();
    const file = this.files[request.url ?? ''];
    if (file !== undefined) return void response.end(JSON.stringify(file));
    if (this.etag !== undefined && request.headers['if-none-match'] === this.etag)
      return void response.writeHead(304, this.headers).end();
    response.writeHead(this.status, {
      'content-type': 'application/json',
      ...(this.etag === undefined ? {} : { etag: this.etag }),
      ...this.headers,
    });
    response.end(typeof this.card === 'string' ? this.card : JSON.stringify(this.card));
  };

  /** Settles when there have been so many requests. */
  asked(count: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.requests.length >= count) resolve();
    else this.#waiting.push({ count, resolve });
    return promise;
  }
}

let calls = 0;

export function callRecord(agentId: string, change: Partial<CallRecord> = {}): CallRecord {
  return {
    callId: `call-${++calls}`,
    agentId,
    caller: 'bob',
    startedAt: Date.now(),
    responseTime: 100,
    success: true,
    retryCount: 0,
    requestDigest: 'aa',
    ...change,
  };
}

/** With the tables of before ratings of one's own agents were told apart. */
export async function makeOldDatabase(place: { file: string } | { url: string }): Promise<void> {
  const store = await openStore<RegistrySchema>({ ...place, name: 'agent3', migrations: migrations.slice(0, 2) });
  const add = async (id: string, owner: string, ratings: [string, number][]) => {
    const texts = { identity: id, name: id, description: '', version: '1', digest: '', own_tags: '[]', tags: '[]' };
    const times = { registered_at: 0, refreshed_at: 0, fresh_until: 0, health_due: 0 };
    const sums = { rating_count: ratings.length, rating_sum: 5 * ratings.length, rating_weight: ratings.length };
    const { number } = await store.db
      .insertInto('agent3_agents')
      .values({ id, owner, ...texts, ...times, ...sums, protocols: '[]', verified: 0, idempotent: 0, standing: 0.5 })
      .returning('number')
      .executeTakeFirstOrThrow();
    const card = JSON.stringify(v1Card());
    await store.db.insertInto('agent3_cards').values({ agent_number: number, card }).execute();
    for (const [index, [rater, rating]] of ratings.entries())
      await store.db
        .insertInto('agent3_feedback')
        .values({ call_id: `${id} ${index}`, agent_id: id, rater, rating, text: '', created_at: index })
        .execute();
  };
  try {
    await add('praised-by-its-owner', 'alice', [
      ['alice', 5],
      ['alice', 5],
    ]);
    await add('praised-by-all', 'alice', [
      ['alice', 5],
      ['bob', 5],
    ]);
    await add('of-somebody-alone', 'local', [['local', 5]]);
    const price = JSON.stringify({ perCall: 0.5, currency: 'USD' });
    await store.db.updateTable('agent3_agents').set({ price }).where('id', '=', 'praised-by-all').execute();
  } finally {
    await store.close();
  }
}

export async function expectMigrated(registry: Registry): Promise<void> {
  const owners = await registry.select('praised-by-its-owner');
  expect(owners).toMatchObject({ totalReviews: 0, recentReviews: [] });
  expect(owners).not.toHaveProperty('reputation');
  const receipt = await registry.record(callRecord(owners.id));
  const rating = { agentId: owners.id, rating: 2, feedback: '', receipt };
  expect(await registry.feedback(rating, bob)).toMatchObject({ reputation: 2 });
  expect(await registry.select('praised-by-all')).toMatchObject({
    reputation: 5,
    totalReviews: 1,
    recentReviews: [{ rater: 'bob' }],
  });
  expect(await registry.select('of-somebody-alone')).toMatchObject({ reputation: 5, totalReviews: 1 });
  const copy = await registry.register({ card: v1Card({ name: 'copy' }) }, bob);
  expect(copy.price).toEqual({ perCall: 0.5, currency: 'USD' });
}
