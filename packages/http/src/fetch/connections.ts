// Where the requests of one `fetch` get their connections.
import type { ClientRequest, RequestOptions } from 'node:http';
import type { Duplex } from 'node:stream';

/** What an address says, read once. */
export interface Target {
  url: URL;
  origin: string;
  isSecure: boolean;
  /** As the server is told: without the port that is usual. */
  authority: string;
  /** As it is connected to; an IPv6 address has no brackets. */
  host: string;
  port: number;
  path: string;
  lookup?: RequestOptions['lookup'];
}

export interface Connections {
  /** Whether `close` was called: nothing is sent again over others. */
  readonly areClosed: boolean;
  /** With a connection that is there or being made; nothing is written to it yet. */
  request(target: Target, method: string, headers: Readonly<Record<string, string>>): ClientRequest;
  /** Ends all of them, also those in use. */
  close(): void;
}

export interface TlsOptions {
  /** Certificates to trust instead of the usual ones. */
  ca?: string | readonly string[];
  /** Whether to check certificates at all. */
  rejectUnauthorized?: boolean;
}

/** As Node takes them. */
export function readTls({ ca, rejectUnauthorized = true }: TlsOptions): { ca?: string[]; rejectUnauthorized: boolean } {
  return { rejectUnauthorized, ...(ca ? { ca: [...[ca].flat()] } : {}) };
}

/** So long a connection is kept that nobody uses. */
export const IDLE_MS = 30_000;
/** So long before a server said that it ends a connection it is given up: news of both may be late. */
export const NOT_TO_THE_LAST_MS = 2_000;

/** After so long without a request a server may have ended a connection. */
const REST_MS = 5;

interface Rested {
  socket: Duplex & { bytesRead?: number };
  /** Bytes that were heard before. */
  heard: number | undefined;
}

const rested = new WeakMap<ClientRequest, Rested>();

/** For a request over a connection that was free since then, by `performance.now()`. */
export function noteRest(request: ClientRequest, socket: Rested['socket'], since: number): void {
  if (performance.now() - since > REST_MS) rested.set(request, { socket, heard: socket.bytesRead });
}

/** Whether the server may have ended its connection unheard. */
export function hasRested(request: ClientRequest): boolean {
  return rested.has(request);
}

/** Whether its server says something before it is asked. */
export function isSpokenOn(request: ClientRequest): boolean {
  const noted = rested.get(request);
  return noted !== undefined && noted.socket.bytesRead !== noted.heard;
}
