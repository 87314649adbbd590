// HTTP exchanges with Mattermost: keep-alive connections, a limit on concurrent requests, and a deadline per response.
import { Agent, type ClientRequest, type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps, Agent as SecureAgent } from 'node:https';
import type { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { getCACertificates } from 'node:tls';
import { Semaphore } from '@pocket-agent/kit';
import { isMattermostError, MattermostError } from '../base/errors.ts';
import type { MattermostConfig } from '../config/config.ts';
import { startRequestDeadline } from './deadline.ts';

export interface OutgoingRequest {
  method: string;
  /** Relative to the Mattermost URL, query included. */
  path: string;
  headers: Readonly<Record<string, string>>;
  /** A function opens a new stream for every attempt. */
  body?: Buffer | (() => Readable) | undefined;
  /** The time limit for a complete response. */
  timeoutMs: number;
  /** How long to wait for a free connection; the request is not sent afterwards. Default `timeoutMs`. */
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
  readonly #slots: Semaphore;
  readonly #request: typeof requestHttp;
  #isClosed = false;

  constructor({ url, maxConnections, keepAliveMs, verifyTls, extraCaCerts }: PoolConfig) {
    this.#base = new URL(`${url}/`);
    this.#slots = new Semaphore(maxConnections);
    const options = { keepAlive: true, timeout: keepAliveMs };
    const isSecure = this.#base.protocol === 'https:';
    this.#request = isSecure ? requestHttps : requestHttp;
    const ca = extraCaCerts === undefined ? {} : { ca: [...getCACertificates('default'), extraCaCerts] };
    this.#agent = isSecure ? new SecureAgent({ ...options, ...ca, rejectUnauthorized: verifyTls }) : new Agent(options);
  }

  async exchange<Result>(
    outgoing: OutgoingRequest,
    read: (response: IncomingMessage) => Promise<Result>,
  ): Promise<Result> {
    const { signal, timeoutMs } = outgoing;
    const what = `${outgoing.method} ${outgoing.path.split('?', 1)[0]}`;
    const release = await this.#acquireSlot(outgoing, what);
    const deadline = startRequestDeadline({ caller: signal, timeoutMs, what });
    try {
      if (this.#isClosed) throw new MattermostError('ABORTED', 'The server is closing.');
      const { request, response } = await this.#send(outgoing, deadline.signal);
      try {
        return await read(response);
      } finally {
        // close the connection unless both bodies were transferred completely
        if (!response.readableEnded || !request.writableFinished) request.destroy();
      }
    } catch (error) {
      // after an abort the socket reports another error
      if (deadline.signal.aborted) throw deadline.signal.reason;
      throw error;
    } finally {
      deadline.release();
      release();
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#agent.destroy();
  }

  async #acquireSlot(
    { signal, timeoutMs, sendWithinMs = timeoutMs }: OutgoingRequest,
    what: string,
  ): Promise<() => void> {
    const deadline = startRequestDeadline({ caller: signal, timeoutMs: sendWithinMs, what });
    try {
      return await this.#slots.acquire(deadline.signal);
    } catch (error) {
      if (!isMattermostError(error, 'TIMEOUT')) throw error;
      const text = `All connections to Mattermost are in use (MATTERMOST_MAX_CONNECTIONS), so the request was not sent (${what}); try again later.`;
      throw new MattermostError('UNREACHABLE', text);
    } finally {
      deadline.release();
    }
  }

  #send({ method, path, headers, body }: OutgoingRequest, signal: AbortSignal): Promise<Exchange> {
    return new Promise((resolve, reject) => {
      const url = new URL(`${this.#base.pathname.replace(/\/$/, '')}${path}`, this.#base);
      const request = this.#request(url, { method, headers, agent: this.#agent, signal });
      let hasResponse = false;
      request.once('response', (response) => {
        hasResponse = true;
        resolve({ request, response });
      });
      request.on('error', reject);
      if (typeof body === 'function') {
        pipeline(body(), request).catch((error) => {
          // a response before the end of the upload is a refusal and says why
          if (hasResponse) return;
          reject(error);
          request.destroy();
        });
      } else request.end(body);
    });
  }
}
