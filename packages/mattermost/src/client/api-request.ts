// A request to the Mattermost API, and how it is sent.
import type { Readable } from 'node:stream';
import type { MattermostConfig } from '../config/config.ts';
import type { OutgoingRequest } from './http-pool.ts';
import { type Query, withQuery } from './path.ts';
import type { RetrySafety } from './retry.ts';

export interface ApiRequest {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'PATCH';
  path: string;
  query?: Query | undefined;
  json?: unknown;
  /** A file upload instead of JSON. */
  stream?: { type: string; length: number; open: () => Readable };
  safety: RetrySafety;
  /** Mattermost drops duplicates, so any network error may be retried within the deduplication window. */
  isDeduplicated?: boolean;
  /** Checks before a retry whether an attempt with an unknown outcome took effect. */
  find?: () => Promise<unknown>;
}

interface SendOptions {
  config: MattermostConfig;
  /** Undefined for requests without authentication. */
  token: string | undefined;
  signal: AbortSignal;
}

export function toOutgoing(
  { method, path, query, json, stream }: ApiRequest,
  timeoutMs: number,
  { token, signal, config }: SendOptions,
): OutgoingRequest {
  const headers: Record<string, string> = { accept: 'application/json' };
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  const body = stream?.open ?? (json === undefined ? undefined : Buffer.from(JSON.stringify(json)));
  if (stream) Object.assign(headers, { 'content-type': stream.type, 'content-length': String(stream.length) });
  else if (body instanceof Buffer) {
    Object.assign(headers, { 'content-type': 'application/json', 'content-length': String(body.length) });
  }
  return { method, path: `${config.apiPath}${withQuery(path, query)}`, headers, body, timeoutMs, signal };
}

/** The path for the log, which may contain ids but no names. */
export function loggablePath({ path }: ApiRequest): string {
  return path.replace(/\/(name|username)\/[^/]+/g, '/$1/…');
}
