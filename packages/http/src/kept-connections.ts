// Connections that are kept between requests. An Agent of node:http does the same, and more that we have no use for, at
// a fifth of what a small request costs; what it is careful about is here too.
import { type ClientRequest, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { connect, isIP, type Socket } from 'node:net';
import { connect as connectSecurely } from 'node:tls';
import {
  type Connections,
  IDLE_MS,
  NOT_TO_THE_LAST_MS,
  noteRest,
  type Target,
  type TlsOptions,
} from './connections.ts';

/** After so long a connection is made anew: names move, and it holds on to the async context it was made in. */
const LONGEST_USE_MS = 300_000;
/** Of other origins are kept, so that coming back to them is quick. */
const MOST_SESSIONS = 100;

export class KeptConnections implements Connections {
  areClosed = false;
  readonly #tls: TlsOptions;
  readonly #lines = new Set<Line>();
  /** Free ones by their origins. */
  readonly #free = new Map<string, Line[]>();
  readonly #sessions = new Map<string, Buffer>();

  constructor(tls: TlsOptions) {
    this.#tls = tls;
  }

  request(target: Target, method: string, headers: Readonly<Record<string, string>>): ClientRequest {
    const { isSecure, host, port, path } = target;
    const used: Line[] = [];
    const request = (isSecure ? requestHttps : requestHttp)({
      host,
      port,
      path,
      method,
      headers: listOf(target, headers),
      // asked for when everything else is known to be valid
      createConnection: () => {
        const line = this.#take(target.url.origin) ?? this.#open(target);
        used.push(line);
        return line.socket;
      },
    });
    request.shouldKeepAlive = headers.connection === undefined; // it would be, had the headers not come as a list
    for (const line of used) line.serve(request);
    return request;
  }

  close(): void {
    this.areClosed = true;
    for (const { socket } of this.#lines) socket.destroy();
  }

  /** The latest that is still good. */
  #take(origin: string): Line | undefined {
    const free = this.#free.get(origin);
    for (let line = free?.pop(); line; line = free?.pop()) if (line.wake()) return line;
    return undefined;
  }

  #open(target: Target): Line {
    const { origin } = target.url;
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
    if (free) free.push(line);
    else this.#free.set(origin, [line]);
  }

  #remember(origin: string, session: Buffer): void {
    this.#sessions.delete(origin);
    this.#sessions.set(origin, session);
    const [oldest] = this.#sessions.keys();
    if (this.#sessions.size > MOST_SESSIONS && oldest !== undefined) this.#sessions.delete(oldest);
  }
}

/** One connection, for one request at a time. */
class Line {
  readonly socket: Socket;
  readonly #onFree: () => void;
  readonly #madeAt = performance.now();
  #freeSince: number | undefined;
  #keptMs = IDLE_MS;
  /** The header by which the server said how long it keeps it. */
  #hint: string | undefined;

  constructor(socket: Socket, onFree: () => void) {
    this.socket = socket;
    this.#onFree = onFree;
    socket.setTimeout(IDLE_MS);
    socket.on('timeout', () => {
      if (this.#freeSince !== undefined) socket.destroy();
    });
    socket.on('error', () => {}); // its request is told, and a free one only closes
  }

  serve(request: ClientRequest): void {
    if (this.#freeSince !== undefined) {
      request.reusedSocket = true;
      noteRest(request, this.#freeSince);
      this.#freeSince = undefined;
    }
    request.on('response', ({ headers }) => this.#heed(headers['keep-alive']?.toString()));
    request.on('close', () => this.#rest());
  }

  /** False for one that has been free for too long. */
  wake(): boolean {
    const { socket } = this;
    socket.off('data', this.#startled);
    if (socket.destroyed || performance.now() - (this.#freeSince ?? 0) > this.#keptMs) {
      socket.destroy();
      return false;
    }
    socket.ref();
    return true;
  }

  #rest(): void {
    const { socket } = this;
    const isGood = !socket.destroyed && socket.readable && socket.writable && this.#keptMs > 0;
    if (!isGood || performance.now() - this.#madeAt > LONGEST_USE_MS) {
      socket.destroy();
      return;
    }
    this.#freeSince = performance.now();
    socket.on('data', this.#startled);
    socket.unref();
    this.#onFree();
  }

  /** What comes unasked would be taken for the answer to the next request. */
  readonly #startled = () => this.socket.destroy();

  #heed(hint: string | undefined): void {
    if (hint === this.#hint) return;
    this.#hint = hint;
    const seconds = /^timeout=(\d+)/.exec(hint ?? '')?.[1];
    this.#keptMs = Math.min(IDLE_MS, seconds === undefined ? IDLE_MS : Number(seconds) * 1_000 - NOT_TO_THE_LAST_MS);
    if (this.#keptMs > 0) this.socket.setTimeout(this.#keptMs);
  }
}

function connectTo({ isSecure, host, port, lookup }: Target, tls: TlsOptions, session: Buffer | undefined): Socket {
  const to = { host, port, ...(lookup ? { lookup } : {}) };
  if (!isSecure) return connect({ ...to, noDelay: true, keepAlive: true });
  const { ca, rejectUnauthorized = true } = tls;
  const socket = connectSecurely({
    ...to,
    servername: isIP(host) ? '' : host,
    ALPNProtocols: ['http/1.1'],
    rejectUnauthorized,
    ...(ca ? { ca: [...[ca].flat()] } : {}),
    ...(session ? { session } : {}),
  });
  return socket.setNoDelay(true).setKeepAlive(true);
}

/** As a list node:http takes them at half the cost. */
function listOf({ url }: Target, headers: Readonly<Record<string, string>>): string[] {
  const list: string[] = [];
  if (headers.host === undefined) list.push('host', url.host);
  if (headers.connection === undefined) list.push('connection', 'keep-alive');
  for (const name in headers) list.push(name, headers[name] ?? '');
  return list;
}
