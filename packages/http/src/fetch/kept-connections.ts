// Connections that are kept between requests. An Agent of node:http does so too, and much besides, which makes a fifth of
// what a small request costs (docs/decisions/013).
import type { Agent, ClientRequest, RequestOptions } from 'node:http';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import {
  type Connections,
  IDLE_MS,
  NOT_TO_THE_LAST_MS,
  noteRest,
  readTls,
  type Target,
  type TlsOptions,
} from './connections.ts';
import { nodeHttp, nodeHttps } from './node-http.ts';
import { rawHeader } from './raw-header.ts';

/** After so long a connection is made anew: names move, and it holds on to the async context it was made in. */
const LONGEST_USE_MS = 300_000;
/** After so long without a byte the other side is asked whether it is still there. */
const PROBED_AFTER_MS = 1_000;
/** So many free ones are kept of one origin. */
const MOST_FREE = 256;
/** Of so many origins the TLS session is kept, so that coming back to them is quick. */
const MOST_SESSIONS = 100;

export class KeptConnections implements Connections {
  areClosed = false;
  readonly #tls: TlsOptions;
  readonly #lines = new Set<Line>();
  /** Free ones by their origins. */
  readonly #free = new Map<string, Line[]>();
  readonly #sessions = new Map<string, Buffer>();
  readonly #http = new Handover('http:', 80, (target) => this.#lineTo(target));
  readonly #https = new Handover('https:', 443, (target) => this.#lineTo(target));

  constructor(tls: TlsOptions) {
    this.#tls = tls;
  }

  request(target: Target, method: string, headers: Readonly<Record<string, string>>): ClientRequest {
    const { isSecure, authority, host, port, path } = target;
    const options: HandoverOptions = {
      host,
      port,
      path,
      method,
      headers: { host: authority, connection: 'keep-alive', ...headers },
      agent: (isSecure ? this.#https : this.#http) as unknown as Agent, // node:http asks for no more than this
      [to]: target,
    };
    return (isSecure ? nodeHttps() : nodeHttp()).request(options);
  }

  close(): void {
    this.areClosed = true;
    for (const { socket } of this.#lines) socket.destroy();
  }

  #lineTo(target: Target | undefined): Line {
    if (!target) throw new Error('Something between this fetch and node:http has lost where a request goes');
    return this.#take(target.origin) ?? this.#open(target);
  }

  /** The latest that is still good. */
  #take(origin: string): Line | undefined {
    const free = this.#free.get(origin);
    for (let line = free?.pop(); line; line = free?.pop()) if (line.wake()) return line;
    return undefined;
  }

  #open(target: Target): Line {
    const { origin } = target;
    const socket = connectTo(target, this.#tls, this.#sessions.get(origin));
    const line = new Line(socket, () => this.#keep(origin, line));
    this.#lines.add(line);
    socket.on('session', (session: Buffer) => this.#remember(origin, session));
    socket.on('close', (hadError) => {
      if (hadError) this.#sessions.delete(origin);
      this.#lines.delete(line);
      const free = this.#free.get(origin)?.filter((other) => other !== line) ?? [];
      if (free.length > 0) this.#free.set(origin, free);
      else this.#free.delete(origin);
    });
    return line;
  }

  #keep(origin: string, line: Line): void {
    const free = this.#free.get(origin);
    if (!free) this.#free.set(origin, [line]);
    else if (free.length < MOST_FREE) free.push(line);
    else line.socket.destroy();
  }

  #remember(origin: string, session: Buffer): void {
    this.#sessions.delete(origin);
    this.#sessions.set(origin, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

/** An option that node:http passes on to its Agent. */
const to = Symbol('target');

interface HandoverOptions extends RequestOptions {
  [to]: Target;
}

/**
 * What node:http wants of an Agent, and nothing that keeps connections: it hands a request its own when everything else
 * is known to be valid. No Agent by class: programs that stand in for them would make connections by it themselves.
 */
class Handover {
  readonly protocol: string;
  readonly defaultPort: number;
  // so that a request says by its header whether its connection is kept
  readonly keepAlive = false;
  readonly maxSockets = Number.POSITIVE_INFINITY;
  readonly #lineTo: (target: Target) => Line;

  constructor(protocol: string, defaultPort: number, lineTo: (target: Target) => Line) {
    this.protocol = protocol;
    this.defaultPort = defaultPort;
    this.#lineTo = lineTo;
  }

  /** Called by node:http. */
  addRequest(request: ClientRequest, options: HandoverOptions): void {
    const line = this.#lineTo(options[to]);
    line.serve(request);
    request.onSocket(line.socket);
  }
}

/** One connection, for one request at a time. */
class Line {
  readonly socket: Socket;
  readonly #onFree: () => void;
  readonly #madeAt = performance.now();
  #freeSince: number | undefined;
  #keptMs = IDLE_MS;
  /** Runs also while it is in use: a timer of the socket would be set anew with everything that is read or written. */
  #timer: NodeJS.Timeout | undefined;
  /** The header by which the server said how long it keeps it. */
  #hint: string | undefined;

  constructor(socket: Socket, onFree: () => void) {
    this.socket = socket;
    this.#onFree = onFree;
    // what comes unasked would be taken for the answer to the next request
    socket.on('data', () => {
      if (this.#freeSince !== undefined) socket.destroy();
    });
    socket.on('close', () => clearTimeout(this.#timer));
    socket.on('error', () => {}); // its request is told, and a free one only closes
  }

  serve(request: ClientRequest): void {
    if (this.#freeSince !== undefined) {
      request.reusedSocket = true;
      noteRest(request, this.socket, this.#freeSince);
      this.#freeSince = undefined;
    }
    let isOver = false;
    request.on('response', (message) => this.#heed(rawHeader(message, 'keep-alive')));
    request.on('close', () => {
      if (isOver) return; // some versions of Node tell it twice of one that was answered before it was sent
      isOver = true;
      if (request.writableFinished) this.#rest();
      else this.socket.destroy();
    });
  }

  /** False for one that has been free for too long. */
  wake(): boolean {
    const { socket } = this;
    if (!this.#isOpen || this.#leftMs <= 0) {
      socket.destroy();
      return false;
    }
    socket.ref();
    return true;
  }

  #rest(): void {
    const { socket } = this;
    if (!this.#isOpen || this.#keptMs <= 0 || performance.now() - this.#madeAt > LONGEST_USE_MS) {
      socket.destroy();
      return;
    }
    this.#freeSince = performance.now();
    this.#timer ??= setTimeout(this.#look, this.#keptMs).unref();
    socket.unref();
    this.#onFree();
  }

  readonly #look = () => {
    this.#timer = undefined;
    if (this.#freeSince === undefined) return;
    if (this.#leftMs > 0) this.#timer = setTimeout(this.#look, this.#leftMs).unref();
    else this.socket.destroy();
  };

  get #leftMs(): number {
    return (this.#freeSince ?? 0) + this.#keptMs - performance.now();
  }

  get #isOpen(): boolean {
    return this.socket.readable && this.socket.writable;
  }

  #heed(hint: string | undefined): void {
    if (hint === this.#hint) return;
    this.#hint = hint;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const seconds = /^timeout=(\d+)/.exec(hint ?? '')?.[1];
    this.#keptMs = Math.min(IDLE_MS, seconds === undefined ? IDLE_MS : Number(seconds) * 1_000 - NOT_TO_THE_LAST_MS);
  }
}

function connectTo({ isSecure, host, port, lookup }: Target, tls: TlsOptions, session: Buffer | undefined): Socket {
  const to = { host, port, ...(lookup ? { lookup } : {}) };
  if (!isSecure) return connect({ ...to, noDelay: true, keepAlive: true, keepAliveInitialDelay: PROBED_AFTER_MS });
  const socket = connectSecurely({
    ...to,
    servername: isIP(host) ? '' : host,
    ALPNProtocols: ['http/1.1'],
    ...readTls(tls),
    ...(session ? { session } : {}),
  });
  return socket.setNoDelay(true).setKeepAlive(true, PROBED_AFTER_MS);
}
