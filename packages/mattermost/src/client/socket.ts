// One WebSocket to Mattermost that stays open: it says who it is, notices when it is dead, and comes back.
import { getCACertificates } from 'node:tls';
import WebSocket from 'ws';
import { errorText, isMattermostError } from '../base/errors.ts';
import { isObject, parseObject } from '../base/json.ts';
import type { Log } from '../base/log.ts';
import type { MattermostConfig } from '../config/config.ts';
import { backoff } from './retry.ts';

/** Posts and reactions are JSON in text inside its data. */
export interface SocketEvent {
  event: string;
  data: Readonly<Record<string, unknown>>;
  broadcast: Readonly<Record<string, unknown>>;
}

export interface SocketOptions {
  config: MattermostConfig;
  token: string;
  log: Log;
  onEvent(event: SocketEvent): void;
  /** Something may have been missed: the socket is new, or numbers are left out. */
  onGap(): void;
  /** Whether Mattermost still takes the token; asked when it hangs up without a word. */
  isTokenValid(): Promise<boolean>;
  /** The token is valid no longer; the socket does not come back. */
  onRefused(): void;
}

const LARGEST_MESSAGE = 8_000_000;
const GOODBYE_MS = 1000;

export class MattermostSocket {
  readonly #options: SocketOptions;
  #socket: WebSocket | undefined;
  #isReady = false;
  #isClosed = false;
  #attempt = 0;
  /** Number of our next message. */
  #seq = 1;
  /** Number of the next event; another one means that some are missing. */
  #nextEvent = 0;
  #heard = true;
  #pinging: NodeJS.Timeout | undefined;
  #reconnecting: NodeJS.Timeout | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    this.#connect();
  }

  /** Lost while the connection is: for what is of use only at the moment. */
  send(action: string, data: Record<string, unknown> = {}): void {
    if (this.#isReady) this.#write(action, data);
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#reconnecting);
    clearInterval(this.#pinging);
    const socket = this.#socket;
    if (socket?.readyState !== WebSocket.OPEN) {
      socket?.terminate();
      return;
    }
    socket.close(1000);
    setTimeout(() => socket.terminate(), GOODBYE_MS).unref();
  }

  #connect(): void {
    const { config, token } = this.#options;
    const { verifyTls, extraCaCerts, timeoutMs } = config;
    const address = `${config.url.replace(/^http/, 'ws')}${config.apiPath}/websocket`;
    const socket = new WebSocket(address, {
      headers: { authorization: `Bearer ${token}` },
      handshakeTimeout: timeoutMs,
      maxPayload: LARGEST_MESSAGE,
      rejectUnauthorized: verifyTls,
      ...(extraCaCerts === undefined ? {} : { ca: [...getCACertificates('default'), extraCaCerts] }),
    });
    this.#socket = socket;
    this.#isReady = false;
    this.#seq = 1;
    let reason = '';
    socket.on('open', () => {
      this.#heard = true;
      this.#pinging = setInterval(() => this.#ping(socket), config.pingMs);
      // a proxy may have dropped the header
      this.#write('authentication_challenge', { token });
    });
    socket.on('message', (data) => this.#hear(String(data)));
    socket.on('pong', () => {
      this.#heard = true;
    });
    socket.on('error', (error) => {
      reason = errorText(error);
    });
    socket.on('close', (code) => this.#lost(reason || `closed with code ${code}`));
  }

  #hear(line: string): void {
    this.#heard = true;
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

  /** Silence since the last ping is the silence of the dead; who has not greeted by now will not. */
  #ping(socket: WebSocket): void {
    if (!this.#heard || !this.#isReady) {
      socket.terminate();
      return;
    }
    this.#heard = false;
    this.#write('ping');
  }

  #lost(reason: string): void {
    clearInterval(this.#pinging);
    const wasReady = this.#isReady;
    this.#isReady = false;
    if (this.#isClosed) return;
    const { config, log } = this.#options;
    const wait = backoff(this.#attempt++, config.backoffMs);
    log.info('socket_lost', { reason: reason.slice(0, 200), wait_ms: Math.round(wait) });
    this.#reconnecting = setTimeout(() => void this.#comeBack(wasReady), wait);
  }

  async #comeBack(wasReady: boolean): Promise<void> {
    const isValid = wasReady || (await this.#options.isTokenValid());
    if (this.#isClosed) return;
    if (isValid) this.#connect();
    else {
      this.#isClosed = true;
      this.#options.onRefused();
    }
  }

  #write(action: string, data?: Record<string, unknown>): void {
    if (this.#socket?.readyState !== WebSocket.OPEN) return;
    this.#socket.send(JSON.stringify({ seq: this.#seq++, action, ...(data ? { data } : {}) }));
  }
}

/** Only Mattermost's own word ends a token; an outage does not. */
export async function isTokenValid(ask: () => Promise<unknown>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    return !isMattermostError(error, 'AUTHENTICATION_FAILED');
  }
}

function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {};
}
