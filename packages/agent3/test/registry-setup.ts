// Registries on real files, and servers that hand out cards, closed after each test.
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type HttpFetch, makeFetch } from '@pocket-agent/http/fetch';
import { openRegistry, type Registry, type RegistryOptions } from '../src/registry/registry.ts';
import type { CallRecord, CardJson } from '../src/types.ts';

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
