// One exchange over HTTP: a kept-alive connection, a place among those in flight, and a deadline for the whole answer.
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getCACertificates } from 'node:tls';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { MattermostConfig } from '../config/config.ts';
import { startDeadline } from './deadline.ts';
import { Semaphore } from './semaphore.ts';

export interface Outgoing {
  method: string;
  /** Below the address of Mattermost, with its query. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** A stream is made anew for every attempt. */
  body?: Buffer | (() => Readable) | undefined;
  /** For the answer. */
  timeoutMs: number;
  /** Who has no connection by then is not sent. Default `timeoutMs`. */
  sendWithinMs?: number;
  signal: AbortSignal;
}

interface Exchange {
  request: ClientRequest;
  response: IncomingMessage;
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

  async exchange<Result>(outgoing: Outgoing, read: (response: IncomingMessage) => Promise<Result>): Promise<Result> {
    const { signal, timeoutMs } = outgoing;
    const what = `${outgoing.method} ${outgoing.path.split('?', 1)[0]}`;
    const leave = await this.#enter(outgoing, what);
    const deadline = startDeadline({ caller: signal, timeoutMs, what });
    try {
      if (this.#isClosed) throw new MattermostError('ABORTED', 'The server is closing.');
      const { request, response } = await this.#send(outgoing, deadline.signal);
      try {
        return await read(response);
      } finally {
        // what is not wanted to its end, or was answered before its end, is cut off
        if (!response.readableEnded || !request.writableFinished) request.destroy();
      }
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

  async #enter({ signal, timeoutMs, sendWithinMs = timeoutMs }: Outgoing, what: string): Promise<() => void> {
    const deadline = startDeadline({ caller: signal, timeoutMs: sendWithinMs, what });
    try {
      return await this.#places.enter(deadline.signal);
    } catch (error) {
      if (!isMattermostError(error, 'TIMEOUT')) throw error;
      const text = `All connections to Mattermost are in use (MATTERMOST_MAX_CONNECTIONS), so nothing was sent (${what}); try again later.`;
      throw new MattermostError('UNREACHABLE', text);
    } finally {
      deadline.release();
    }
  }

  #send({ method, path, headers, body }: Outgoing, signal: AbortSignal): Promise<Exchange> {
    return new Promise((resolve, reject) => {
      const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}${path}`, this.#base);
      const request = this.#request(url, { method, headers, agent: this.#agent, signal });
      let isAnswered = false;
      request.once('response', (response) => {
        isAnswered = true;
        resolve({ request, response });
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
