// A WebSocket to Mattermost that authenticates, detects a dead connection and reconnects.
import { getCACertificates } from 'node:tls';
import { errorText } from '@pocket-agent/kit';
import WebSocket from 'ws';
import { isMattermostError } from '../base/errors.ts';
import { objectOf, parseObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { backoff } from './retry.ts';

/** In `data`, posts and reactions are JSON strings. */
export interface SocketEvent {
  event: string;
  data: Readonly<Record<string, unknown>>;
  broadcast: Readonly<Record<string, unknown>>;
}

interface SocketOptions {
  config: MattermostConfig;
  token: string;
  log: Log;
  onEvent(event: SocketEvent): void;
  /** Events may have been missed: the connection is new, or sequence numbers are missing. */
  onGap(): void;
  /** Whether Mattermost still accepts the token; called when a connection closes before the greeting. */
  isTokenValid(): Promise<boolean>;
  /** The token is no longer valid; the socket does not reconnect. */
  onTokenRejected(): void;
}

const MAX_PAYLOAD_BYTES = 8_000_000;
const CLOSE_TIMEOUT_MS = 1000;

export class MattermostSocket {
  readonly #options: SocketOptions;
  #socket: WebSocket | undefined;
  #isReady = false;
  #isClosed = false;
  #attempt = 0;
  /** Sequence number of our next message. */
  #seq = 1;
  /** Expected sequence number of the next event; a different one means that events are missing. */
  #nextEvent = 0;
  #isAlive = true;
  #pingTimer: NodeJS.Timeout | undefined;
  #reconnectTimer: NodeJS.Timeout | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Sends a message that may be dropped while disconnected. */
  send(action: string, data: Record<string, unknown> = {}): void {
    if (this.#isReady) this.#write(action, data);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#reconnectTimer);
    clearInterval(this.#pingTimer);
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) {
      socket?.terminate();
      return;
    }
    socket.close(1000);
    setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS).unref();
  }

  #connect(): void {
    const { config, token } = this.#options;
    const { verifyTls, extraCaCerts, timeoutMs } = config;
    const address = `${config.url.replace(/^http/, 'ws')}${config.apiPath}/websocket`;
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: timeoutMs,
      maxPayload: MAX_PAYLOAD_BYTES,
      rejectUnauthorized: verifyTls,
      ...(extraCaCerts === undefined ? {} : { ca: [...getCACertificates('default'), extraCaCerts] }),
    });
    this.#socket = socket;
    this.#isReady = false;
    this.#seq = 1;
    let reason = '';
    socket.on('open', () => {
      this.#isAlive = true;
      this.#pingTimer = setInterval(() => this.#ping(socket), config.pingMs);
      // a proxy may have removed the authorization header
      this.#write('authentication_challenge', { token });
    });
    socket.on('message', (data) => this.#handleMessage(String(data)));
    socket.on('pong', () => {
      this.#isAlive = true;
    });
    socket.on('error', (error) => {
      reason = errorText(error);
    });
    socket.on('close', (code) => this.#handleClose(reason || `closed with code ${code}`));
  }

  #handleMessage(line: string): void {
    this.#isAlive = true;
    const message = parseObject(line);
    if (typeof message?.event !== 'string') return;
    const { event, seq } = message;
    const isHello = event === 'hello';
    const isGap = isHello || (typeof seq === 'number' && seq !== this.#nextEvent);
    if (typeof seq === 'number') this.#nextEvent = seq + 1;
    if (isHello) {
      this.#isReady = true;
      this.#attempt = 0;
    }
    if (isGap) this.#options.onGap();
    this.#options.onEvent({ event, data: objectOf(message.data), broadcast: objectOf(message.broadcast) });
  }

  /** Ends a connection that was silent since the last ping or has not sent its greeting. */
  #ping(socket: WebSocket): void {
    if (!this.#isAlive || !this.#isReady) {
      socket.terminate();
      return;
    }
    this.#isAlive = false;
    this.#write('ping');
  }

  #handleClose(reason: string): void {
    clearInterval(this.#pingTimer);
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (this.#isClosed) return;
    const { config, log } = this.#options;
    const wait = backoff(this.#attempt++, config.backoffMs);
    log.info('socket_lost', { reason: reason.slice(0, 200), wait_ms: Math.round(wait) });
    this.#reconnectTimer = setTimeout(() => void this.#reconnect(wasReady), wait);
  }

  async #reconnect(wasReady: boolean): Promise<void> {
    const isValid = wasReady || (await this.#options.isTokenValid());
    if (this.#isClosed) return;
    if (isValid) this.#connect();
    else {
      this.#isClosed = true;
      this.#options.onTokenRejected();
    }
  }

  #write(action: string, data?: Record<string, unknown>): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ seq: this.#seq++, action, ...(data ? { data } : {}) }));
  }
}

/** False only if Mattermost itself rejects the token; an outage says nothing about it. */
export async function isTokenValid(request: () => Promise<unknown>): Promise<boolean> {
  try {
    await request();
    return true;
  } catch (error) {
    return !isMattermostError(error, 'AUTHENTICATION_FAILED');
  }
}
