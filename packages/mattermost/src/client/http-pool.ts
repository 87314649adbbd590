// One exchange over HTTP: a kept-alive connection, a place among those in flight, and a deadline for the whole answer.
import { Agent, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getCACertificates } from 'node:tls';
import type { MattermostConfig } from '../config.ts';
import { MattermostError } from '../errors.ts';
import { startDeadline } from './deadline.ts';
import { Semaphore } from './semaphore.ts';

export interface Outgoing {
  method: string;
  /** Below the address of Mattermost, with its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** A stream is made anew for every attempt. */
  body?: Buffer | (() => Readable) | undefined;
  timeoutMs: number;
  signal: AbortSignal;
}

type PoolConfig = Pick<MattermostConfig, 'url' | 'maxConnections' | 'keepAliveMs' | 'verifyTls' | 'extraCaCerts'>;

export class HttpPool {
  readonly #base: URL;
  readonly #agent: Agent;
  readonly #places: Semaphore;
  readonly #request: typeof requestHttp;
  #isClosed = false;

  constructor({ url, maxConnections, keepAliveMs, verifyTls, extraCaCerts }: PoolConfig) {
    this.#base = new URL(`${url}/`);
    this.#places = new Semaphore(maxConnections);
    const options = { keepAlive: true, timeout: keepAliveMs };
    const isSecure = this.#base.protocol === 'https:';
    this.#request = isSecure ? requestHttps : requestHttp;
    const ca = extraCaCerts === undefined ? {} : { ca: [...getCACertificates('default'), extraCaCerts] };
    this.#agent = isSecure ? new SecureAgent({ ...options, ...ca, rejectUnauthorized: verifyTls }) : new Agent(options);
  }

  /** `read` must read the answer to its end, or end it; then the connection is given back. */
  async exchange<Result>(outgoing: Outgoing, read: (response: IncomingMessage) => Promise<Result>): Promise<Result> {
    const { signal, timeoutMs, method, path } = outgoing;
    const leave = await this.#places.enter(signal);
    const deadline = startDeadline({ caller: signal, timeoutMs, what: `${method} ${path.split('?', 1)[0]}` });
    try {
      if (this.#isClosed) throw new MattermostError('ABORTED', 'The server is closing.');
      return await read(await this.#send(outgoing, deadline.signal));
    } catch (error) {
      // an abort shows as whatever the socket says about it
      if (deadline.signal.aborted) throw deadline.signal.reason;
      throw error;
    } finally {
      deadline.release();
      leave();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  #send({ method, path, headers, body }: Outgoing, signal: AbortSignal): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}${path}`, this.#base);
      const request = this.#request(url, { method, headers, agent: this.#agent, signal });
      let isAnswered = false;
      request.once('response', (response) => {
        isAnswered = true;
        resolve(response);
      });
      request.on('error', reject);
      if (typeof body === 'function') {
        pipeline(body(), request).catch((error) => {
          // who answers before the end of a file has refused it, and the answer says why
          if (isAnswered) return;
          reject(error);
          request.destroy();
        });
      } else request.end(body);
    });
  }
}
